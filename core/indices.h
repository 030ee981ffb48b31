#pragma once

#include <concepts>
#include <span>
#include <string>
#include <vector>

#include "tapegrad/core/internal/storage.h"
#include "tapegrad/core/place.h"
#include "tapegrad/core/shape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// An immutable array of labels, token ids or positions in row-major order. It never has a
/// gradient.
/// Example: `Indices({2, 3}, {0, 1, 2, 3, 4, 5})`
class Indices {
 public:
  /// No indices at all; `defined()` is false.
  Indices() = default;
  /// Throws ShapeError unless there are `shape.size()` values.
  Indices(const Shape& shape, std::span<const Index> values);
  Indices(const Shape& shape, std::initializer_list<Index> values)
      : Indices(shape, std::span<const Index>(values.begin(), values.size())) {}
  /// Takes whole numbers of another type.
  template <std::integral Number>
  requires(!std::same_as<Number, Index>)
      Indices(const Shape& shape, const std::vector<Number>& values)
      : Indices(shape, std::span<const Index>(std::vector<Index>(values.begin(), values.end()))) {}
  /// New indices to be filled through `mutable_data`.
  static Indices uninitialized(const Shape& shape);

  bool defined() const { return storage_.data() != nullptr; }
  // A temporary returns copies, so that `for (... : random.permutation(5).values())` is safe.
  const Shape& shape() const& { return shape_; }
  Shape shape() && { return shape_; }
  Index size() const { return shape_.size(); }
  /// Empty if undefined.
  std::span<const Index> values() const& {
    return {data(), defined() ? static_cast<std::size_t>(size()) : 0};
  }
  std::vector<Index> values() && {
    const std::span<const Index> own = values();
    return {own.begin(), own.end()};
  }
  const Index* data() const { return static_cast<const Index*>(storage_.data()); }
  /// For filling newly made indices. Throws Error if other indices or a tape share the values, and
  /// for undefined indices.
  Index* mutable_data();
  /// Gives the values another shape, of which one extent may be -1. Throws ShapeError if its size
  /// differs.
  Indices reshape(const Extents& extents, Place = Place::here()) const;

 private:
  Storage storage_;
  Shape shape_;
};

/// Throws ShapeError, naming `operation` and the first offender, unless all values lie in
/// [0, count).
/// Example: `expect_below("classify", labels, 3)`
void expect_below(const char* operation, const Indices& indices, Index count);

}  // namespace tapegrad::TAPEGRAD_SCALAR
