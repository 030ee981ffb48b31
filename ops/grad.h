#pragma once

#include <functional>
#include <vector>

#include "tapegrad/core/tape.h"

namespace tapegrad {

struct GradOptions {
  Tensor seed = {};     ///< the gradient of y, of y's shape; ones for a scalar y if undefined
  bool keep = false;    ///< keep the rules, so that another sweep can run over them
  bool record = false;  ///< write the sweep itself on the tape, for derivatives of gradients
};

/// The gradients of y with respect to each x: one reverse sweep over the active tape, through nodes
/// that lead from some x to y only. An x that y does not depend on gets zeros.
///   y: any shape if seeded, otherwise one element   xs: leaves or nodes of the tape
/// Throws TapeError without a tape, for a y or x that is not on it, and for nodes whose rules an
/// earlier sweep has used up; ShapeError for a missing or misshapen seed.
std::vector<Tensor> grad(const Tensor& y, const std::vector<Tensor>& xs,
                         const GradOptions& options = {});
Tensor grad(const Tensor& y, const Tensor& x, const GradOptions& options = {});
/// A parameter that this tape has not used gets zeros.
std::vector<Tensor> grad(const Tensor& y, const std::vector<Parameter>& xs,
                         const GradOptions& options = {});

/// A function of several tensors, differentiable in each.
using Function = std::function<Tensor(const std::vector<Tensor>&)>;

/// The vector-Jacobian products v^T df/dx for each x. Recorded on the active tape, so that they can
/// be differentiated again; without one, on a tape of its own.
std::vector<Tensor> vjp(const Function& f, const std::vector<Tensor>& xs, const Tensor& v);
/// The Jacobian of f at x: element (i..., j...) is df_i/dx_j, of the shape of f(x) followed by x's.
/// One sweep for each element of f(x). Recorded like `vjp`.
Tensor jacobian(const std::function<Tensor(const Tensor&)>& f, const Tensor& x);
/// The Hessian-vector product of a scalar function: d/dx <df/dx, v>.
Tensor hvp(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, const Tensor& v);

/// f(xs), without keeping what is computed inside: the backward sweep computes it again, which
/// costs one more forward pass and leaves only xs and what f captures in memory (Chen et al. 2016).
/// Gradients also reach the parameters and recorded tensors that f captures; random numbers that it
/// draws, for dropout, are the same again, so f must draw from a Random that lives until the sweep.
/// On a tape that keeps values the same as f(xs).
///   f: gives the same for the same inputs, whenever it is called
Tensor recompute(const Function& f, const std::vector<Tensor>& xs, Place = Place::here());

/// A function of several tensors with several results, all of them defined.
using ManyFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
/// `recompute` of several results, such as the states that a part of a sequence leaves to the next:
/// they are copied side by side into one tensor. Throws TapeError, on a tape that does not keep
/// values, for a result that is undefined or none at all.
std::vector<Tensor> recompute(const ManyFunction& f, const std::vector<Tensor>& xs,
                              Place = Place::here());
/// Whether what `recompute` was given is being computed again on this thread. What a layer does
/// beside its value, such as updating running statistics, is done the first time only.
bool recomputing();

/// Sees a value on its way forward and its gradient on the way back.
struct Observer {
  std::function<void(const Tensor&)> value = {};
  std::function<void(const Tensor&)> gradient = {};
};
/// x itself; `observer` sees it now and its gradient in every sweep. Changes neither.
Tensor probe(const Tensor& x, Observer observer, Place = Place::here());

/// While in scope, fused operations take their readable definition on this thread.
class Composite {
 public:
  Composite();
  ~Composite();
  Composite(const Composite&) = delete;
  Composite& operator=(const Composite&) = delete;
  static bool active();

 private:
  bool outer_;
};

}  // namespace tapegrad
