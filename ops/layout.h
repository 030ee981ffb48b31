#pragma once

#include <vector>

#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A shape to be, in which one extent may be -1: it follows from the others.
struct Extents {
  Extents(std::initializer_list<Index> extents) : values(extents) {}
  Extents(const Shape& shape) : values(shape.begin(), shape.end()) {}
  std::vector<Index> values;
};
/// The same elements in another shape. Shares the values. Throws ShapeError when the sizes differ.
Tensor reshape(const Tensor& x, const Extents& extents, Place = Place::here());
/// Axes in the given order: result axis i is axis order[i] of x. Throws ShapeError unless `order`
/// names each axis once.
Tensor permute(const Tensor& x, const std::vector<int>& order, Place = Place::here());
/// Two axes exchanged.
Tensor transpose(const Tensor& x, int first = -2, int second = -1, Place = Place::here());
/// Elements [begin, end) of an axis, in steps; negative positions count from the end. Throws
/// ShapeError for positions out of range and steps below 1.
Tensor slice(const Tensor& x, int axis, Index begin, Index end, Index step = 1,
             Place = Place::here());
/// x[i] along the first axis, which goes away.
Tensor select(const Tensor& x, Index position, int axis = 0, Place = Place::here());
/// Tensors that agree but for `axis`, one after another along it. Throws ShapeError otherwise.
Tensor concat(const std::vector<Tensor>& parts, int axis = 0, Place = Place::here());
/// Tensors of one shape along a new axis.
Tensor stack(const std::vector<Tensor>& parts, int axis = 0, Place = Place::here());
/// Consecutive slices of the given sizes along an axis. Throws ShapeError unless they add up.
std::vector<Tensor> split(const Tensor& x, const std::vector<Index>& sizes, int axis = 0,
                          Place = Place::here());
/// x stretched to `shape` by NumPy's rule. Throws ShapeError when it does not stretch.
Tensor broadcast_to(const Tensor& x, const Shape& shape, Place = Place::here());
/// `value` before and after the elements of each of the last axes: {before, after} an axis.
struct Padding {
  Index before, after;
};
Tensor pad(const Tensor& x, const std::vector<Padding>& last_axes, double value = 0,
           Place = Place::here());
/// The elements on and below (above) the given diagonal of the last two axes, 0 elsewhere.
Tensor tril(const Tensor& x, Index diagonal = 0, Place = Place::here());
Tensor triu(const Tensor& x, Index diagonal = 0, Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
