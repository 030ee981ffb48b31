#pragma once

#include <vector>

#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A requested shape. One extent may be -1 and is then inferred from the others.
/// Example: `reshape(x, {2, -1})`
struct Extents {
  Extents(std::initializer_list<Index> extents) : values(extents) {}
  Extents(const Shape& shape) : values(shape.begin(), shape.end()) {}
  std::vector<Index> values;
};
/// The same elements in another shape. Shares the values. Throws ShapeError when the sizes differ.
/// Example: `reshape(images, {2, -1})`
Tensor reshape(const Tensor& x, const Extents& extents, Place = Place::here());
/// Reorders the axes: result axis i is axis order[i] of x. Throws ShapeError unless `order` names
/// each axis once.
/// Example: `permute(images, {0, 2, 3, 1})`
Tensor permute(const Tensor& x, const std::vector<int>& order, Place = Place::here());
/// Swaps two axes.
/// Example: `matmul(x, transpose(y))`
Tensor transpose(const Tensor& x, int first = -2, int second = -1, Place = Place::here());
/// Elements [begin, end) of an axis, in steps; negative positions count from the end. Throws
/// ShapeError for positions out of range and steps below 1.
/// Example: `slice(x, 1, 0, -1)`
Tensor slice(const Tensor& x, int axis, Index begin, Index end, Index step = 1,
             Place = Place::here());
/// x[position] along `axis`, which the result does not have.
/// Example: `select(x, 0, -1)`
Tensor select(const Tensor& x, Index position, int axis = 0, Place = Place::here());
/// Joins tensors along `axis`. Throws ShapeError unless all other extents agree.
/// Example: `concat({x, y}, 1)`
Tensor concat(const std::vector<Tensor>& parts, int axis = 0, Place = Place::here());
/// Joins tensors of one shape along a new axis.
/// Example: `stack({x, y})`
Tensor stack(const std::vector<Tensor>& parts, int axis = 0, Place = Place::here());
/// Consecutive slices of the given sizes along an axis. Throws ShapeError unless the sizes add up
/// to its extent.
/// Example: `const std::vector<Tensor> parts = split(x, {2, 4}, 1)`
std::vector<Tensor> split(const Tensor& x, const std::vector<Index>& sizes, int axis = 0,
                          Place = Place::here());
/// x stretched to `shape` by NumPy's rule. Throws ShapeError if it cannot be.
/// Example: `broadcast_to(mean(x, 0), {4, 6})`
Tensor broadcast_to(const Tensor& x, const Shape& shape, Place = Place::here());
/// Reverses the order along these axes, by default all.
/// Example: `flip(images, -1)`
Tensor flip(const Tensor& x, const Axes& axes = {}, Place = Place::here());
/// Moves each element `shift` positions on along an axis; what leaves it at the end comes in at the
/// beginning.
/// Example: `roll(x, 1)`
Tensor roll(const Tensor& x, Index shift, int axis = -1, Place = Place::here());
/// So many copies of x, one after another, along each of the last axes; x gets new axes in front if
/// there are more counts than axes. numpy.tile and torch.tile. Throws ArgumentError for negative
/// counts.
/// Example: `tile(x, {2, 1})`
Tensor tile(const Tensor& x, const std::vector<Index>& counts, Place = Place::here());
/// Each slice along an axis `count` times in a row: torch.repeat_interleave, numpy.repeat. Throws
/// ArgumentError for a negative count.
/// Example: `repeat_interleave(images, 2)`
Tensor repeat_interleave(const Tensor& x, Index count, int axis = -1, Place = Place::here());
/// Pads each of the last axes with `value`, given one {before, after} per axis.
/// Example: `const Padding frame{1, 1}; pad(images, {frame, frame})`
struct Padding {
  Index before, after;
};
/// Example: `pad(images, {{1, 1}, {1, 1}})`
Tensor pad(const Tensor& x, const std::vector<Padding>& last_axes, double value = 0,
           Place = Place::here());
/// The elements on and below (above) the given diagonal of the last two axes, 0 elsewhere.
/// Example: `tril(ones({3, 3}))`
Tensor tril(const Tensor& x, Index diagonal = 0, Place = Place::here());
/// Example: `triu(ones({3, 3}), 1)`
Tensor triu(const Tensor& x, Index diagonal = 0, Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
