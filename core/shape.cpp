#include "tapegrad/core/shape.h"

#include <limits>
#include <ostream>

#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR {

Shape::Shape(std::initializer_list<Index> extents)
    : Shape(std::span<const Index>(extents.begin(), extents.size())) {}

Shape::Shape(std::span<const Index> extents) {
  expect(extents.size() <= max_rank, "shape: {} axes; at most {} are supported", extents.size(),
         int{max_rank});
  for (const Index extent : extents) extents_[rank_++] = extent;
  expect_countable();
}

void Shape::no_axis(int axis) const { fail("shape: there is no axis {} in {}", axis, *this); }

void Shape::expect_countable() const {
  Index elements = 1;
  for (const Index extent : *this) {
    expect(extent >= 0, "shape: negative extent: {}", *this);
    expect(extent == 0 || elements <= std::numeric_limits<Index>::max() / 64 / extent,
           "shape: too many elements: {}", *this);
    elements *= std::max<Index>(extent, 1);
  }
}

Shape Shape::with(int axis, Index extent) const {
  Shape changed = *this;
  changed.extents_[resolve(axis)] = extent;
  changed.expect_countable();
  return changed;
}

Shape Shape::without(int axis) const {
  Shape changed = *this;
  std::copy(begin() + resolve(axis) + 1, end(), changed.extents_.begin() + resolve(axis));
  --changed.rank_;
  return changed;
}

Shape Shape::insert(int axis, Index extent) const {
  expect(rank_ < max_rank, "shape: more than {} axes: {}", int{max_rank}, *this);
  expect(axis >= -rank_ - 1 && axis <= rank_, "shape: a new axis {} does not fit into shape {}",
         axis, *this);
  Shape changed = *this;
  ++changed.rank_;
  const int at = changed.resolve(axis);
  std::copy(begin() + at, end(), changed.extents_.begin() + at + 1);
  changed.extents_[at] = extent;
  changed.expect_countable();
  return changed;
}

std::string to_string(const Shape& shape) {
  std::string extents;
  for (const Index extent : shape)
    extents += fmt::format("{}{}", extents.empty() ? "" : ", ", extent);
  return "(" + extents + ")";
}

std::ostream& operator<<(std::ostream& stream, const Shape& shape) {
  return stream << to_string(shape);
}

Shape broadcast(const char* operation, const Shape& a, const Shape& b) {
  Shape result = a.rank() >= b.rank() ? a : b;
  for (int back = 1; back <= std::min(a.rank(), b.rank()); ++back) {
    const Index extent_a = a[-back], extent_b = b[-back];
    expect(extent_a == extent_b || extent_a == 1 || extent_b == 1,
           "{}: shapes do not broadcast: {} and {}", operation, a, b);
    result = result.with(-back, extent_a == 1 ? extent_b : extent_a);
  }
  return result;
}

Shape Extents::of(const Shape& from) const {
  std::vector<Index> resolved = values;
  const auto open = std::find(resolved.begin(), resolved.end(), -1);
  if (open != resolved.end()) {
    expect<ArgumentError>(
        std::count(open, resolved.end(), -1) == 1,
        "reshape: only one extent can follow from the others: {} extents of -1 for {}",
        std::count(open, resolved.end(), -1), from);
    *open = 1;
    const Index others = Shape(resolved).size();
    expect(others > 0 && from.size() % others == 0, "reshape: {} does not divide into parts of {}",
           from, others);
    *open = from.size() / others;
  }
  const Shape shape(resolved);
  expect(shape.size() == from.size(), "reshape: sizes differ: {} to {}", from, shape);
  return shape;
}

std::array<bool, Shape::max_rank> Axes::of(const Shape& shape) const {
  std::array<bool, Shape::max_rank> reduced{};
  if (all_) std::fill_n(reduced.begin(), shape.rank(), true);
  for (const int axis : list_) {
    bool& flag = reduced[shape.resolve(axis)];
    expect(!flag, "axes: axis {} is named twice for shape {}", axis, shape);
    flag = true;
  }
  return reduced;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
