#pragma once

#include "tapegrad/core/indices.h"
#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The sums of the elements up to each one along an axis: result[i] = x[0] + ... + x[i].
///   x: one axis or more   returns: same shape
/// Adds in double precision. Throws ShapeError for an axis that x does not have.
Tensor cumsum(const Tensor& x, int axis = -1, Place = Place::here());

/// Elements along an axis in some order, and their positions along that axis in the tensor they
/// come from: values = gather(x, axis, indices).
struct Sorted {
  Tensor values;
  Indices indices;
};
/// The elements along an axis from the least to the greatest, or the other way round. Stable: equal
/// elements keep their order. NaN counts as greatest, as in PyTorch.
///   x: one axis or more   returns values and indices of x's shape
/// Throws ShapeError for an axis that x does not have.
Sorted sort(const Tensor& x, int axis = -1, bool descending = false, Place = Place::here());
/// The k greatest elements along an axis, the greatest first; of equal ones those at lower
/// positions. NaN counts as greatest.
///   returns values and indices of x's shape, with k along the axis
/// Throws ShapeError unless the axis has k elements or more.
Sorted top_k(const Tensor& x, Index k, int axis = -1, Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
