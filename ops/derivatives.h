#pragma once

#include <functional>
#include <vector>

#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A function of several tensors, differentiable in each.
/// Example: `const Function f = [](const std::vector<Tensor>& in) { return in[0] * in[1]; }`
using Function = std::function<Tensor(const std::vector<Tensor>&)>;

/// The vector-Jacobian products v^T df/dx for each x. They are recorded on the active tape and can
/// be differentiated again; without a tape, or under NoGrad, they are constants. This function,
/// `jvp`, `jacobian` and `hvp` return zeros where f does not depend on x. They throw ArgumentError
/// for an empty f and ShapeError for a v that does not fit.
/// Example: `vjp([](const std::vector<Tensor>& in) { return tanh(in[0]); }, {x}, ones({4, 6}))`
std::vector<Tensor> vjp(const Function& f, const std::vector<Tensor>& xs, const Tensor& v,
                        Place place = Place::here());
/// The Jacobian-vector product sum_i df/dx_i v_i, the derivative of f in the direction of `vs`. It
/// takes two reverse sweeps: the vector-Jacobian product is linear in its vector u, and its
/// gradient with respect to u is this. Recorded like `vjp`. As in PyTorch, a derivative of 0 that
/// meets an infinite slope gives NaN, as of sqrt(relu(x)) at x < 0, where `vjp` gives 0.
///   vs: one for each x, of its shape   returns the shape of f
/// Throws ShapeError for vs that do not fit.
/// Example: `jvp([](const std::vector<Tensor>& in) { return sin(in[0]); }, {x}, {y})`
Tensor jvp(const Function& f, const std::vector<Tensor>& xs, const std::vector<Tensor>& vs,
           Place place = Place::here());
/// The Jacobian of f at x: element (i..., j...) is df_i/dx_j, of the shape of f(x) followed by x's.
/// Takes one sweep for each element of f(x). Recorded like `vjp`.
/// Example: `jacobian([](const Tensor& v) { return softmax(v); }, Tensor({3}, {1, 2, 3}))`
Tensor jacobian(const std::function<Tensor(const Tensor&)>& f, const Tensor& x,
                Place place = Place::here());
/// The Hessian-vector product of a scalar function: d/dx <df/dx, v>.
/// Example: `hvp([](const Tensor& v) { return sum(exp(v)); }, x, y)`
Tensor hvp(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, const Tensor& v,
           Place place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
