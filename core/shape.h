#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The extents of a tensor's axes, outermost first. `Shape{}` is the shape of a scalar; an extent
/// may be 0.
/// Example: `const Shape shape{64, 784}; shape[-1]`
class Shape {
 public:
  static constexpr int max_rank = 8;

  Shape() {}
  Shape(std::initializer_list<Index> extents);
  explicit Shape(std::span<const Index> extents);

  int rank() const { return rank_; }
  /// The number of elements; `rank()` is the number of axes.
  Index size() const { return count(0, rank_); }
  /// The extent of an axis; negative axes count from the last. Throws ShapeError out of range.
  Index operator[](int axis) const { return extent(resolve(axis)); }

  const Index* begin() const { return extents_.data(); }
  const Index* end() const { return extents_.data() + rank_; }
  bool operator==(const Shape& other) const {
    if (rank_ != other.rank_) return false;
    for (int axis = 0; axis < rank_; ++axis)
      if (extent(axis) != other.extent(axis)) return false;
    return true;
  }

  /// `axis` counted from the first. Throws ShapeError when there is no such axis.
  int resolve(int axis) const {
    if (axis < -rank_ || axis >= rank_) [[unlikely]]
      no_axis(axis);
    return axis < 0 ? axis + rank_ : axis;
  }
  /// This shape with one extent changed. Like `insert`, throws ShapeError for a negative extent or
  /// too many elements.
  Shape with(int axis, Index extent) const;
  /// This shape without one axis.
  Shape without(int axis) const;
  /// This shape with an axis of the given extent inserted before `axis`.
  Shape insert(int axis, Index extent) const;
  /// The product of the extents of axes [first, last).
  Index count(int first, int last) const {
    Index product = 1;
    for (int axis = first; axis < last; ++axis) product *= extent(axis);
    return product;
  }

 private:
  // The compiler unrolls loops over axes because it sees the length of the array.
  Index extent(int axis) const { return extents_[static_cast<std::size_t>(axis)]; }
  [[noreturn]] void no_axis(int axis) const;
  void expect_countable() const;

  std::array<Index, max_rank> extents_;  // only the first rank_ are initialized
  int rank_ = 0;
};

/// "(64, 784)"; "()" for a scalar.
std::string to_string(const Shape& shape);
std::ostream& operator<<(std::ostream& stream, const Shape& shape);

/// The shape that two operands broadcast to (NumPy's rule: axes are aligned at the last one, and an
/// extent of 1 stretches). Throws ShapeError, naming `operation`.
/// Example: `broadcast("add", {4, 1}, {6})`
Shape broadcast(const char* operation, const Shape& a, const Shape& b);

/// A requested shape. One extent may be -1 and is then inferred from the others.
/// Example: `reshape(x, {2, -1})`
struct Extents {
  Extents(std::initializer_list<Index> extents) : values(extents) {}
  Extents(const Shape& shape) : values(shape.begin(), shape.end()) {}
  /// The shape that has as many elements as `from`. Throws ArgumentError for several extents of -1,
  /// ShapeError if there is none.
  Shape of(const Shape& from) const;

  std::vector<Index> values;
};

/// The axes of a reduction; by default all. Negative axes count from the last.
/// Example: `sum(images, Axes{2, 3})`
class Axes {
 public:
  Axes() = default;
  Axes(int axis) : list_{axis}, all_(false) {}
  Axes(std::initializer_list<int> axes) : list_(axes), all_(false) {}
  explicit Axes(std::vector<int> axes) : list_(std::move(axes)), all_(false) {}

  /// One flag for each axis of `shape`. Throws ShapeError for an axis that is missing or named
  /// twice.
  std::array<bool, Shape::max_rank> of(const Shape& shape) const;

 private:
  std::vector<int> list_;
  bool all_ = true;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR

template <>
struct fmt::formatter<tapegrad::Shape> {
  constexpr auto parse(format_parse_context& context) { return context.begin(); }
  auto format(const tapegrad::Shape& shape, format_context& context) const {
    const std::string written = tapegrad::to_string(shape);
    return std::copy(written.begin(), written.end(), context.out());
  }
};
