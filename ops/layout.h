#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

// These operations move elements, NaN like any other. Elements that they leave out get gradient 0,
// whatever gradient arrives.

/// Gives the elements another shape. Shares the values. Throws ShapeError when the sizes differ.
/// Elsewhere: `x.reshape`, `view`
/// Example: `reshape(images, {2, -1})`
Tensor reshape(const Tensor& x, const Extents& extents, Place = Place::here());
/// Reorders the axes: result axis i is axis order[i] of x. Throws ShapeError unless `order` names
/// each axis once.
/// Elsewhere: `permute`, `np.transpose`
/// Example: `permute(images, {0, 2, 3, 1})`
Tensor permute(const Tensor& x, const std::vector<int>& order, Place = Place::here());
/// Swaps two axes.
/// Elsewhere: `transpose`, `swapaxes`, `x.T`, `mT`; the last two axes by default
/// Example: `matmul(x, transpose(y))`
Tensor transpose(const Tensor& x, int first = -2, int second = -1, Place = Place::here());
/// Elements [begin, end) of an axis, in steps; negative positions count from the end. For one axis,
/// given by its number; `at` takes a range for each axis. Throws ShapeError for positions out of
/// range and steps below 1.
/// Elsewhere: `x[:, 1:5:2]`, `narrow`; one axis by its number
/// Example: `slice(x, 1, 0, -1)`
Tensor slice(const Tensor& x, int axis, Index begin, Index end, Index step = 1,
             Place = Place::here());
/// x[position] along `axis`, which the result does not have. For one axis, as `slice`.
/// Elsewhere: `x[2]`, `x.select`
/// Example: `select(x, 0, -1)`
Tensor select(const Tensor& x, Index position, int axis = 0, Place = Place::here());

/// Elements [begin, end) of an axis in `at`, in steps; without an end up to the last one, so
/// `Slice{}` is the whole axis. Negative positions count from the end.
/// Example: `at(x, {Slice{}, Slice{.begin = 1, .step = 2}})`
struct Slice {
  Index begin = 0;
  std::optional<Index> end = {};
  Index step = 1;
};
/// In `at`, all axes that the other parts do not name.
/// Example: `at(images, {ellipsis, 0})`
inline constexpr struct Ellipsis {
} ellipsis{};
/// In `at`, an axis of one element that x does not have.
/// Example: `at(x, {new_axis, ellipsis, new_axis})`
inline constexpr struct NewAxis {
} new_axis{};
/// One part of an index: a position, a slice, `ellipsis` or `new_axis`.
/// Example: `at(x, std::vector<AxisIndex>(2, Slice{0, 3}))`
using AxisIndex = std::variant<Index, Slice, Ellipsis, NewAxis>;
/// x[...] as in NumPy and PyTorch. The parts of the index stand for the axes of x from the first
/// on; axes that remain are taken whole. A position drops its axis. Unlike in those, a slice must
/// lie within its axis.
///
///     at(x, {0, Slice{2, 5}})                    x[0, 2:5]
///     at(x, {ellipsis, Slice{.step = 2}, -1})    x[..., ::2, -1]
///     at(x, {Slice{}, new_axis})                 x[:, None]
///
/// Throws ShapeError for positions and slices that do not fit their axes, steps below 1 (`flip`
/// reverses an axis) and more parts than x has axes; ArgumentError for a second ellipsis.
/// Example: `at(images, {0, Slice{}, Slice{2, 5}, Slice{-3}})`
Tensor at(const Tensor& x, const std::vector<AxisIndex>& index, Place = Place::here());

/// Joins tensors along `axis`. Throws ShapeError unless all other extents agree.
/// Elsewhere: `torch.cat`, `np.concatenate`
/// Example: `concat({x, y}, 1)`
Tensor concat(const std::vector<Tensor>& parts, int axis = 0, Place = Place::here());
/// Joins tensors of one shape along a new axis.
/// Elsewhere: `torch.stack`
/// Example: `stack({x, y})`
Tensor stack(const std::vector<Tensor>& parts, int axis = 0, Place = Place::here());
/// Consecutive slices of the given sizes along an axis. Throws ShapeError unless the sizes add up
/// to its extent.
/// Elsewhere: `torch.split`, `chunk`
/// Example: `const std::vector<Tensor> parts = split(x, {2, 4}, 1)`
std::vector<Tensor> split(const Tensor& x, const std::vector<Index>& sizes, int axis = 0,
                          Place = Place::here());
/// x stretched to `shape` by NumPy's rule. Throws ShapeError if it cannot be.
/// Elsewhere: `expand`, `np.broadcast_to`
/// Example: `broadcast_to(mean(x, 0), {4, 6})`
Tensor broadcast_to(const Tensor& x, const Shape& shape, Place = Place::here());
/// Reverses the order along these axes, by default all.
/// Elsewhere: `torch.flip`, `x[::-1]`; all axes by default
/// Example: `flip(images, -1)`
Tensor flip(const Tensor& x, const Axes& axes = {}, Place = Place::here());
/// Moves each element `shift` positions on along an axis; what leaves it at the end comes in at the
/// beginning.
/// Elsewhere: `torch.roll`
/// Example: `roll(x, 1)`
Tensor roll(const Tensor& x, Index shift, int axis = -1, Place = Place::here());
/// So many copies of x, one after another, along each of the last axes; x gets new axes in front if
/// there are more counts than axes. numpy.tile and torch.tile. Throws ArgumentError for negative
/// counts.
/// Elsewhere: `torch.tile`, `x.repeat`
/// Example: `tile(x, {2, 1})`
Tensor tile(const Tensor& x, const std::vector<Index>& counts, Place = Place::here());
/// Each slice along an axis `count` times in a row: torch.repeat_interleave, numpy.repeat. Throws
/// ArgumentError for a negative count.
/// Elsewhere: `repeat_interleave`, `np.repeat`
/// Example: `repeat_interleave(images, 2)`
Tensor repeat_interleave(const Tensor& x, Index count, int axis = -1, Place = Place::here());
/// Pads each of the last axes with `value`, given one {before, after} per axis.
/// Example: `const Padding frame{1, 1}; pad(images, {frame, frame})`
struct Padding {
  Index before, after;
};
/// Elsewhere: `torch.nn.functional.pad`
/// Example: `pad(images, {{1, 1}, {1, 1}})`
Tensor pad(const Tensor& x, const std::vector<Padding>& last_axes, double value = 0,
           Place = Place::here());
/// The elements on and below (above) the given diagonal of the last two axes, 0 elsewhere.
/// Elsewhere: `torch.tril`, `np.triu`
/// Example: `tril(ones({3, 3}))`
Tensor tril(const Tensor& x, Index diagonal = 0, Place = Place::here());
/// Example: `triu(ones({3, 3}), 1)`
Tensor triu(const Tensor& x, Index diagonal = 0, Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
