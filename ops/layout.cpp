#include "tapegrad/ops/layout.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "tapegrad/core/error.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/internal/apply.h"
#include "tapegrad/ops/kernels/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// Positions first, first + step, ... below last, none of them negative.
struct StridedRange {
  Index first, last, step;
  Index count() const { return (last - first + step - 1) / step; }
};

// These positions of one axis.
class SlicePart final : public Part {
 public:
  SlicePart(int axis, const StridedRange& positions) : axis_(axis), positions_(positions) {}

  void add_to(Tensor& total, const Tensor& part) const override {
    kernels::add_slice(of(total.shape()), part.data(), total.mutable_data());
  }
  Tensor extract(const Tensor& whole) const override {
    return slice(whole, axis_, positions_.first, positions_.last, positions_.step);
  }

  kernels::Slice of(const Shape& whole) const {
    return {kernels::along(whole, axis_), positions_.first, positions_.count(), positions_.step};
  }

 private:
  int axis_;
  StridedRange positions_;
};

// The positions of a slice. Throws unless it fits the axis.
StridedRange resolved(const char* operation, const Shape& shape, int axis, const Slice& slice) {
  const Index extent = shape[axis], begin = slice.begin, end = slice.end.value_or(extent);
  expect(slice.step >= 1,
         "{}: a step must be at least 1: {} along axis {} of {}; reverse with flip", operation,
         slice.step, axis, shape);
  const Index first = begin < 0 ? begin + extent : begin, last = end < 0 ? end + extent : end;
  expect(first >= 0 && first <= last && last <= extent,
         "{}: [{}, {}) in steps of {} does not fit axis {} of {}", operation, begin, end,
         slice.step, axis, shape);
  return {first, last, slice.step};
}

// Whether this part of an index stands for one axis of the tensor.
bool names_axis(const AxisIndex& part) {
  return std::holds_alternative<Index>(part) || std::holds_alternative<Slice>(part);
}

// What a position or a slice takes of an axis.
StridedRange positions_of(const Shape& shape, int axis, const AxisIndex& part) {
  if (const Slice* slice = std::get_if<Slice>(&part)) return resolved("at", shape, axis, *slice);
  const Index position = std::get<Index>(part);
  const Index first = position < 0 ? position + shape[axis] : position;
  expect(first >= 0 && first < shape[axis], "at: position {} does not fit axis {} of {}", position,
         axis, shape);
  return {first, first + 1, 1};
}

Tensor copy_permuted(const Tensor& x, const std::vector<int>& order) {
  const int rank = x.rank();
  std::vector<Index> extents(rank), strides(rank);
  for (int i = 0; i < rank; ++i) {
    extents[i] = x.shape()[order[i]];
    strides[i] = x.shape().count(order[i] + 1, rank);
  }
  Tensor y = Tensor::uninitialized(Shape(extents));
  kernels::permute(extents, strides, x.data(), y.mutable_data());
  return y;
}

Tensor masked_triangle(const Tensor& x, Index diagonal, bool lower) {
  expect(x.rank() >= 2, "{}: needs two axes or more: {}", lower ? "tril" : "triu", x.shape());
  const Index rows = x.shape()[-2], columns = x.shape()[-1];
  Tensor mask = Tensor::uninitialized({rows, columns});
  real* out = mask.mutable_data();
  for (Index i = 0; i < rows; ++i)
    for (Index j = 0; j < columns; ++j)
      out[i * columns + j] = (lower ? j - i <= diagonal : j - i >= diagonal) ? 1 : 0;
  return mask;
}

}  // namespace

Tensor reshape(const Tensor& x, const Extents& extents, Place place) {
  const OperationScope scope("reshape", place, x);
  return record("reshape", x.view(extents.of(x.shape())), place,
                edge(x, [from = x.shape()](const Tensor& g) { return reshape(g, from); }));
}

Tensor permute(const Tensor& x, const std::vector<int>& order, Place place) {
  const OperationScope scope("permute", place, x);
  std::vector<int> axes, inverse(x.rank(), -1);
  for (const int axis : order) axes.push_back(x.shape().resolve(axis));
  for (std::size_t i = 0; i < axes.size(); ++i) inverse[axes[i]] = static_cast<int>(i);
  expect(static_cast<int>(axes.size()) == x.rank() &&
             std::find(inverse.begin(), inverse.end(), -1) == inverse.end(),
         "permute: the order must name each axis of {} once", x.shape());
  return record("permute", copy_permuted(x, axes), place,
                edge(x, [inverse](const Tensor& g) { return permute(g, inverse); }));
}

Tensor transpose(const Tensor& x, int first, int second, Place place) {
  const OperationScope scope("transpose", place, x);
  std::vector<int> order(x.rank());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[x.shape().resolve(first)], order[x.shape().resolve(second)]);
  return permute(x, order, place);
}

Tensor slice(const Tensor& x, int axis, Index begin, Index end, Index step, Place place) {
  const OperationScope scope("slice", place, x);
  axis = x.shape().resolve(axis);
  const StridedRange positions = resolved("slice", x.shape(), axis, {begin, end, step});
  const auto part = std::make_shared<const SlicePart>(axis, positions);
  const Shape shape = x.shape().with(axis, positions.count());
  if (step == 1 && x.shape().count(0, axis) == 1) {  // consecutive: shares the values
    const Index offset = positions.first * x.shape().count(axis + 1, x.rank());
    return record("slice", x.view(shape, offset), place, part_edge(x, part));
  }
  Tensor y = Tensor::uninitialized(shape);
  kernels::take_slice(part->of(x.shape()), x.data(), y.mutable_data());
  return record("slice", y, place, part_edge(x, part));
}

Tensor select(const Tensor& x, Index position, int axis, Place place) {
  const OperationScope scope("select", place, x);
  axis = x.shape().resolve(axis);
  const Index at = position < 0 ? position + x.shape()[axis] : position;
  expect(at >= 0 && at < x.shape()[axis], "select: position {} does not fit axis {} of {}",
         position, axis, x.shape());
  return reshape(slice(x, axis, at, at + 1, 1, place), x.shape().without(axis), place);
}

Tensor at(const Tensor& x, const std::vector<AxisIndex>& index, Place place) {
  const OperationScope scope("at", place, x);
  const auto named = static_cast<int>(std::count_if(index.begin(), index.end(), names_axis));
  const auto ellipses = std::count_if(index.begin(), index.end(), [](const AxisIndex& part) {
    return std::holds_alternative<Ellipsis>(part);
  });
  expect(named <= x.rank(), "at: more positions and slices than axes: {} for {}", named, x.shape());
  expect<ArgumentError>(ellipses <= 1, "at: only one ellipsis is possible: {}", ellipses);
  Tensor y = x;
  std::vector<Index> extents;
  int axis = 0;
  const auto take_whole = [&](int axes) {
    for (int i = 0; i < axes; ++i) extents.push_back(x.shape()[axis++]);
  };
  for (const AxisIndex& part : index) {
    if (names_axis(part)) {
      const auto [first, last, step] = positions_of(x.shape(), axis, part);
      if (last - first < x.shape()[axis] || step > 1) y = slice(y, axis, first, last, step);
      if (std::holds_alternative<Slice>(part)) extents.push_back(y.shape()[axis]);
      ++axis;
    } else if (std::holds_alternative<Ellipsis>(part)) {
      take_whole(x.rank() - named);
    } else {
      extents.push_back(1);
    }
  }
  take_whole(x.rank() - axis);
  return reshape(y, Shape(extents), place);
}

Tensor concat(const std::vector<Tensor>& parts, int axis, Place place) {
  const PlaceScope caller(place);
  expect(!parts.empty(), "concat: nothing to join");
  expect_all_defined("concat", parts);
  const Shape& first = parts[0].shape();
  axis = first.resolve(axis);
  Index extent = 0;
  std::vector<Index> begins;
  for (const Tensor& part : parts) {
    expect(part.rank() == first.rank() && part.shape().with(axis, first[axis]) == first,
           "concat: shapes differ beside axis {}: {} and {}", axis, first, part.shape());
    begins.push_back(extent);
    extent += part.shape()[axis];
  }
  Tensor y = Tensor::uninitialized(first.with(axis, extent));
  const kernels::AlongAxis whole = kernels::along(y.shape(), axis);
  real* out = y.mutable_data();
  for (std::size_t i = 0; i < parts.size(); ++i)
    kernels::put_slice({whole, begins[i], parts[i].shape()[axis], 1}, parts[i].data(), out);
  return record_each("concat", y, place, parts, [&](std::size_t i) {
    return [axis, begin = begins[i], end = begins[i] + parts[i].shape()[axis]](const Tensor& g) {
      return slice(g, axis, begin, end);
    };
  });
}

Tensor stack(const std::vector<Tensor>& parts, int axis, Place place) {
  const PlaceScope caller(place);
  expect(!parts.empty(), "stack: nothing to join");
  expect_all_defined("stack", parts);
  std::vector<Tensor> rows;
  for (const Tensor& part : parts) {
    expect(part.shape() == parts[0].shape(), "stack: shapes differ: {} and {}", parts[0].shape(),
           part.shape());
    rows.push_back(reshape(part, part.shape().insert(axis, 1)));
  }
  return concat(rows, axis);
}

std::vector<Tensor> split(const Tensor& x, const std::vector<Index>& sizes, int axis, Place place) {
  const OperationScope scope("split", place, x);
  const Index extent = x.shape()[axis];
  expect(std::accumulate(sizes.begin(), sizes.end(), Index{0}) == extent,
         "split: sizes do not add up to axis {} of {}", axis, x.shape());
  std::vector<Tensor> parts;
  Index begin = 0;
  for (const Index size : sizes) {
    parts.push_back(slice(x, axis, begin, begin + size, 1, place));
    begin += size;
  }
  return parts;
}

Tensor broadcast_to(const Tensor& x, const Shape& shape, Place place) {
  const OperationScope scope("broadcast_to", place, x);
  expect(broadcast("broadcast_to", x.shape(), shape) == shape,
         "broadcast_to: {} does not stretch to {}", x.shape(), shape);
  // The sweep sums the gradient to the shape of x.
  return record("broadcast_to", stretched(x, shape), place, edge(x));
}

Tensor flip(const Tensor& x, const Axes& axes, Place place) {
  const OperationScope scope("flip", place, x);
  const auto flipped = axes.of(x.shape());
  Tensor y = x;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!flipped[static_cast<std::size_t>(axis)]) continue;
    Indices positions = Indices::uninitialized({x.shape()[axis]});
    std::iota(positions.mutable_data(), positions.mutable_data() + positions.size(), Index{0});
    std::reverse(positions.mutable_data(), positions.mutable_data() + positions.size());
    y = index_select(y, axis, positions);
  }
  return y;
}

Tensor roll(const Tensor& x, Index shift, int axis, Place place) {
  const OperationScope scope("roll", place, x);
  const Index extent = x.shape()[axis];
  if (extent == 0) return x;
  const Index begin = (extent - shift % extent) % extent;
  return concat({slice(x, axis, begin, extent), slice(x, axis, 0, begin)}, axis);
}

Tensor tile(const Tensor& x, const std::vector<Index>& counts, Place place) {
  const OperationScope scope("tile", place, x);
  Tensor y = x;
  while (y.rank() < static_cast<int>(counts.size())) y = reshape(y, y.shape().insert(0, 1));
  const int first = y.rank() - static_cast<int>(counts.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const int axis = first + static_cast<int>(i);
    expect<ArgumentError>(counts[i] >= 0, "tile: a count is negative: {}", counts[i]);
    const Index outer = y.shape().count(0, axis), inner = y.shape().count(axis, y.rank());
    const Tensor copies = broadcast_to(reshape(y, {outer, 1, inner}), {outer, counts[i], inner});
    y = reshape(copies, y.shape().with(axis, y.shape()[axis] * counts[i]));
  }
  return y;
}

Tensor repeat_interleave(const Tensor& x, Index count, int axis, Place place) {
  const OperationScope scope("repeat_interleave", place, x);
  axis = x.shape().resolve(axis);
  expect<ArgumentError>(count >= 0, "repeat_interleave: the count is negative: {}", count);
  const Index outer = x.shape().count(0, axis + 1), inner = x.shape().count(axis + 1, x.rank());
  const Tensor copies = broadcast_to(reshape(x, {outer, 1, inner}), {outer, count, inner});
  return reshape(copies, x.shape().with(axis, x.shape()[axis] * count));
}

Tensor pad(const Tensor& x, const std::vector<Padding>& last_axes, double value, Place place) {
  const OperationScope scope("pad", place, x);
  const int first = x.rank() - static_cast<int>(last_axes.size());
  expect(first >= 0, "pad: {} axes to pad in {}", last_axes.size(), x.shape());
  Tensor y = x;
  for (std::size_t i = 0; i < last_axes.size(); ++i) {
    const int axis = first + static_cast<int>(i);
    const auto [before, after] = last_axes[i];
    expect<ArgumentError>(before >= 0 && after >= 0, "pad: negative padding: {}, {}", before,
                          after);
    y = concat(
        {full(y.shape().with(axis, before), value), y, full(y.shape().with(axis, after), value)},
        axis);
  }
  return y;
}

Tensor tril(const Tensor& x, Index diagonal, Place place) {
  const OperationScope scope("tril", place, x);
  return where(masked_triangle(x, diagonal, true), x, 0.0, place);
}

Tensor triu(const Tensor& x, Index diagonal, Place place) {
  const OperationScope scope("triu", place, x);
  return where(masked_triangle(x, diagonal, false), x, 0.0, place);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
