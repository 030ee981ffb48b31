#pragma once

#include "tapegrad/core/indices.h"
#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Whether to keep reduced axes, with extent 1.
/// Example: `x - mean(x, -1, Keep::yes)`
enum class Keep { no, yes };

// Reductions over any axes (all by default) of a tensor of any shape. They throw ShapeError for
// axes that do not exist. The order of summation depends on the shape alone. A NaN makes the result
// of its group NaN, and its gradient is not 0, unless another factor of `prod` is.

/// Elsewhere: `torch.sum(x, dim=1, keepdim=True)`; all axes by default
/// Example: `sum(images, {2, 3})`
Tensor sum(const Tensor& x, const Axes& axes = {}, Keep = Keep::no, Place = Place::here());
/// 1 if there are no elements. Multiplies in double precision. Its derivatives are right at 0, too.
/// Elsewhere: `torch.prod`
/// Example: `prod(x, -1)`
Tensor prod(const Tensor& x, const Axes& axes = {}, Keep = Keep::no, Place = Place::here());
/// NaN if there are no elements.
/// Elsewhere: `x.mean(dim=(0, 1))`
/// Example: `mean(x, 0)`
Tensor mean(const Tensor& x, const Axes& axes = {}, Keep = Keep::no, Place = Place::here());

/// The divisor of a variance: the count n (biased) or n - 1 (unbiased).
/// Example: `var(x, -1, Keep::no, Variance::unbiased)`
enum class Variance { biased, unbiased };
/// NaN if there are no elements, and for one element if it is unbiased.
/// Elsewhere: `torch.var(correction=0)`, `np.var`; biased by default, as in NumPy
/// Example: `var(x, -1, Keep::yes)`
Tensor var(const Tensor& x, const Axes& axes = {}, Keep = Keep::no, Variance = Variance::biased,
           Place = Place::here());
/// sqrt(var), also where the variance would overflow or vanish; its gradient at 0 is 0. It is not
/// called `std`, so that programs can write `using namespace tapegrad`.
/// Elsewhere: `torch.std`, `np.std`; biased by default, as in NumPy; `torch.std` is unbiased
/// Example: `stddev(x, 0)`
Tensor stddev(const Tensor& x, const Axes& axes = {}, Keep = Keep::no, Variance = Variance::biased,
              Place = Place::here());
/// The Euclidean norm sqrt(sum x^2), also where squares overflow or vanish, as (1e20)^2 and
/// (1e-25)^2 do in single precision; its gradient at 0 is 0.
/// Elsewhere: `torch.linalg.vector_norm`
/// Example: `x / norm(x, -1, Keep::yes)`
Tensor norm(const Tensor& x, const Axes& axes = {}, Keep = Keep::no, Place = Place::here());
/// Equal extremes share the gradient evenly, as in PyTorch's amax and amin. NaNs win and share it
/// likewise. The other elements get 0 whatever arrives. Throws ShapeError if there are no elements.
/// Elsewhere: `torch.amax`, `np.max`
/// Example: `max(x, -1)`
Tensor max(const Tensor& x, const Axes& axes = {}, Keep = Keep::no, Place = Place::here());
/// Example: `min(x)`
Tensor min(const Tensor& x, const Axes& axes = {}, Keep = Keep::no, Place = Place::here());
/// log sum e^x, without overflow; -inf if there are no elements and where every x is -inf. There
/// the gradient is NaN, as in PyTorch.
/// Elsewhere: `torch.logsumexp`
/// Example: `logsumexp(logits, -1)`
Tensor logsumexp(const Tensor& x, const Axes& axes = {}, Keep = Keep::no, Place = Place::here());

/// The position of the first greatest element along `axis`, of x's shape without that axis. NaN
/// counts as greatest. Throws ShapeError for an axis of extent 0.
/// Elsewhere: `torch.argmax`, `argmin`
/// Example: `count_equal(argmax(logits), labels)`
Indices argmax(const Tensor& x, int axis = -1, Place = Place::here());
/// The position of the first least element. A NaN counts as least.
/// Example: `argmin(x, 0)`
Indices argmin(const Tensor& x, int axis = -1, Place = Place::here());

/// Sums x to `shape`, the reverse of broadcasting from it. Throws ShapeError unless `shape`
/// broadcasts to x's shape.
/// Example: `sum_to(x, {6})`
Tensor sum_to(const Tensor& x, const Shape& shape, Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
