#pragma once

#include <functional>
#include <vector>

#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct GradOptions {
  Tensor seed = {};     ///< the gradient of y, of y's shape; ones for a scalar y if undefined
  bool keep = false;    ///< keep the rules, so that another sweep can run over them
  bool record = false;  ///< write the sweep itself on the tape, for derivatives of gradients
};

/// The gradients of y with respect to each x: one reverse sweep over the active tape, through nodes
/// that lead from some x to y only; those of an x itself are left for a sweep that goes on from
/// there with `seed`. An x that y does not depend on gets zeros.
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
/// be differentiated again; without one, or under NoGrad, they are constants. All three give zeros
/// where f does not depend on x, and throw ArgumentError for an empty f, ShapeError for a v that
/// does not fit.
std::vector<Tensor> vjp(const Function& f, const std::vector<Tensor>& xs, const Tensor& v);
/// The Jacobian of f at x: element (i..., j...) is df_i/dx_j, of the shape of f(x) followed by x's.
/// One sweep for each element of f(x). Recorded like `vjp`.
Tensor jacobian(const std::function<Tensor(const Tensor&)>& f, const Tensor& x);
/// The Hessian-vector product of a scalar function: d/dx <df/dx, v>.
Tensor hvp(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, const Tensor& v);

/// Sees a value on its way forward and its gradient on the way back.
struct Observer {
  std::function<void(const Tensor&)> value = {};
  std::function<void(const Tensor&)> gradient = {};
};
/// x itself; `observer` sees it now and its gradient in every sweep. Changes neither.
Tensor probe(const Tensor& x, Observer observer, Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
