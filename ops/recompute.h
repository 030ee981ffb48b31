#pragma once

#include "tapegrad/ops/derivatives.h"
#include "tapegrad/ops/grad.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// f(xs) without keeping its intermediate values, also called gradient checkpointing. The backward
/// sweep computes them again: this costs one more forward pass and keeps only xs and what f
/// captures (Chen et al. 2016). Gradients also reach the parameters and recorded tensors that f
/// captures. f draws the same random numbers again, for dropout, so its Random must live until the
/// sweep. On a tape that keeps values, it is the same as f(xs).
///   f: returns the same for the same inputs, whenever it is called
/// Tensors that f records are refused afterwards, except its result. The sweep throws TapeError if
/// f computes something else the second time, if a parameter that f reads has changed meanwhile, if
/// a Random has ended, or if another ChangedComputation is in scope than the first time. Throws
/// TapeError for an f that is empty or returns an undefined tensor.
/// Example: `recompute([&](const std::vector<Tensor>& in) { return net(in[0]); }, {x})`
Tensor recompute(const Function& f, const std::vector<Tensor>& xs, Place = Place::here());

/// A function of several tensors with several results, all of them defined.
/// Example: `ManyFunction both = [](auto& in) { return std::vector{exp(in[0]), sin(in[0])}; }`
using ManyFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
/// `recompute` for several results, such as the states that one part of a sequence passes to the
/// next. Copies them side by side into one tensor. Throws TapeError as the other does, and if there
/// are no results.
std::vector<Tensor> recompute(const ManyFunction& f, const std::vector<Tensor>& xs,
                              Place = Place::here());
/// Whether this thread is computing the function of a `recompute` again. Side effects of a layer,
/// such as updating running statistics, must happen the first time only.
/// Example: `if (!recomputing()) fmt::print("the first time\n")`
bool recomputing();

/// A member of scopes that change what functions compute on this thread, such as AroundNorms. It
/// lets `recompute` notice that such a scope has ended or another has begun since the first time.
/// Example: `const ChangedComputation changed`
class ChangedComputation {
 public:
  ChangedComputation();
  /// The unique number of the innermost one on this thread; 0 if there is none.
  static std::uint64_t innermost();

 private:
  Scoped<std::uint64_t> innermost_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
