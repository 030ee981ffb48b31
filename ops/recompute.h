#pragma once

#include "tapegrad/ops/grad.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// f(xs), without keeping what is computed inside: the backward sweep computes it again, which
/// costs one more forward pass and leaves only xs and what f captures in memory (Chen et al. 2016).
/// Gradients also reach the parameters and recorded tensors that f captures; random numbers that it
/// draws, for dropout, are the same again, so f must draw from a Random that lives until the sweep.
/// On a tape that keeps values the same as f(xs).
///   f: gives the same for the same inputs, whenever it is called
/// Tensors that f records and leaves behind elsewhere than in its result are refused afterwards.
/// The sweep throws TapeError when f does something else the second time, when a parameter that it
/// reads has changed in between or a Random has ended, and outside of the ChangedComputation of the
/// first time. Throws TapeError for an f that is empty or returns an undefined tensor.
Tensor recompute(const Function& f, const std::vector<Tensor>& xs, Place = Place::here());

/// A function of several tensors with several results, all of them defined.
using ManyFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
/// `recompute` of several results, such as the states that a part of a sequence leaves to the next:
/// they are copied side by side into one tensor. Throws TapeError as the other does, and for no
/// results at all.
std::vector<Tensor> recompute(const ManyFunction& f, const std::vector<Tensor>& xs,
                              Place = Place::here());
/// Whether what `recompute` was given is being computed again on this thread. What a layer does
/// beside its value, such as updating running statistics, is done the first time only.
bool recomputing();

/// A member of scopes that change what functions compute on this thread, such as AroundNorms: by it
/// `recompute` knows that a scope of the first time has ended, or that another has begun.
class ChangedComputation {
 public:
  ChangedComputation();
  /// A number of the innermost on this thread, which no other ever has; 0 without one.
  static std::uint64_t innermost();

 private:
  Scoped<std::uint64_t> innermost_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
