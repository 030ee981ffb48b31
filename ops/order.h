#pragma once

#include "tapegrad/core/indices.h"
#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Running sums along an axis: result[i] = x[0] + ... + x[i].
///   x: one axis or more   returns: same shape
/// Adds in double precision. All sums from a NaN on are NaN. Throws ShapeError for an axis that x
/// does not have.
/// Elsewhere: `torch.cumsum`, `cumprod`
/// Example: `cumsum(x, 0)`
Tensor cumsum(const Tensor& x, int axis = -1, Place = Place::here());

/// Running products along an axis: result[i] = x[0] ... x[i].
///   x: one axis or more   returns: same shape
/// Multiplies in double precision. Its derivatives are right at 0, too. Throws ShapeError for an
/// axis that x does not have.
/// Example: `cumprod(x)`
Tensor cumprod(const Tensor& x, int axis = -1, Place = Place::here());

/// Ordered elements along an axis, and their positions in the original tensor: values = gather(x,
/// axis, indices).
/// Example: `const Sorted sorted = sort(x, 0); gather(y, 0, sorted.indices)`
struct Sorted {
  Tensor values;
  Indices indices;
};
/// Sorts the elements along an axis, in ascending order unless `descending`. Stable: equal elements
/// keep their order. NaN counts as greatest, as in PyTorch. Each element gets the gradient of its
/// place, a NaN too.
///   x: one axis or more   returns values and indices of x's shape
/// Throws ShapeError for an axis that x does not have.
/// Elsewhere: `torch.sort`; `.values` and `.indices`
/// Example: `const auto [values, positions] = sort(x, -1, true)`
Sorted sort(const Tensor& x, int axis = -1, bool descending = false, Place = Place::here());
/// The positions that would sort x: `sort(x, axis, descending).indices`.
/// Elsewhere: `torch.argsort`
/// Example: `index_select(x, 0, argsort(mean(x, -1)))`
Indices argsort(const Tensor& x, int axis = -1, bool descending = false, Place = Place::here());
/// The k greatest elements along an axis, the greatest first; among equal ones, lower positions
/// first. NaN counts as greatest. The other elements get gradient 0 whatever arrives.
///   returns values and indices of x's shape, with k along the axis
/// Throws ShapeError if the axis has fewer than k elements.
/// Elsewhere: `torch.topk`
/// Example: `const auto [values, positions] = top_k(logits, 2)`
Sorted top_k(const Tensor& x, Index k, int axis = -1, Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
