#pragma once

#include <concepts>
#include <iosfwd>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tapegrad/core/internal/storage.h"
#include "tapegrad/core/place.h"
#include "tapegrad/core/shape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// An immutable array of `real` in row-major order, and its node if an operation recorded it on a
/// tape. Copies share the values, which outlive the tape.
/// Example: `Tensor({2, 3}, {1, 2, 3, 4, 5, 6})`
class Tensor {
 public:
  /// No value at all; `defined()` is false.
  Tensor() {}  // not defaulted: `Tensor()` would first zero every member
  /// A scalar, of shape (). Not recorded on any tape.
  Tensor(double value);
  /// From values in row-major order. Throws ShapeError unless there are `shape.size()` of them.
  Tensor(const Shape& shape, std::span<const real> values);
  Tensor(const Shape& shape, std::initializer_list<real> values)
      : Tensor(shape, std::span<const real>(values.begin(), values.size())) {}
  /// Takes numbers of another type, rounded to `real`.
  template <class Number>
  requires(std::is_arithmetic_v<Number> && !std::same_as<Number, real>)
      Tensor(const Shape& shape, const std::vector<Number>& values)
      : Tensor(shape, std::span<const real>(rounded(values))) {}
  /// A new tensor to be filled through `mutable_data`.
  static Tensor uninitialized(const Shape& shape);
  /// Shares `shape.size()` values in row-major order, which must not change while a tensor or tape
  /// refers to them, and never writes to them. The last of these releases `owner`, on its thread;
  /// an empty tensor shares nothing. Throws ArgumentError for a null or misaligned address.
  static Tensor sharing(const Shape& shape, const real* values, std::shared_ptr<const void> owner);

  bool defined() const { return storage_.data() != nullptr; }
  // A temporary returns copies, so that `for (... : softmax(x).values())` is safe.
  const Shape& shape() const& { return shape_; }
  Shape shape() && { return shape_; }
  int rank() const { return shape_.rank(); }
  Index size() const { return shape_.size(); }
  const real* data() const { return data_; }
  /// Empty if undefined.
  std::span<const real> values() const& {
    return {data_, defined() ? static_cast<std::size_t>(size()) : 0};
  }
  std::vector<real> values() && {
    const std::span<const real> own = values();
    return {own.begin(), own.end()};
  }
  /// The value of a tensor with one element. Throws ShapeError otherwise.
  real item(Place = Place::here()) const;

  /// Whether no one else shares the values, so that they may be written in place.
  bool unique() const { return storage_.unique(); }
  /// For kernels that fill a newly made tensor. Throws Error if another tensor, tape,
  /// parameter or owner shares the values, and for an undefined tensor.
  real* mutable_data() {
    if (!unique()) [[unlikely]]
      refuse_writing();
    return data_;
  }

  /// A tensor of another shape, on no tape, that shares the values from element `offset` on. Throws
  /// ShapeError if there are too few values, and for an undefined tensor.
  Tensor view(const Shape& shape, Index offset = 0) const;

  /// The tape that recorded this tensor (0: none) and its node there.
  std::uint64_t tape_id() const { return tape_id_; }
  std::int32_t node() const { return node_; }

 private:
  friend class Tape;
  Tensor(Storage storage, real* data, const Shape& shape)
      : storage_(std::move(storage)), data_(data), shape_(shape) {}

  template <class Number>
  static std::vector<real> rounded(const std::vector<Number>& values) {
    std::vector<real> result;
    result.reserve(values.size());
    for (const Number value : values) result.push_back(static_cast<real>(value));
    return result;
  }
  [[noreturn]] void refuse_writing() const;

  Storage storage_;
  real* data_ = nullptr;
  Shape shape_;
  std::uint64_t tape_id_ = 0;
  std::int32_t node_ = -1;
};

namespace detail {
[[noreturn]] void refuse_undefined(const char* operation, std::size_t input);
}

/// Throws ShapeError, naming `operation` and its first undefined input (Tensor or Indices).
/// Example: `expect_defined("rows", x, labels)`
template <class... Inputs>
void expect_defined(const char* operation, const Inputs&... inputs) {
  if ((inputs.defined() && ...)) [[likely]]
    return;
  std::size_t first = 0;
  static_cast<void>(((inputs.defined() && ++first > 0) && ...));
  detail::refuse_undefined(operation, first);
}
/// Checks each tensor of a list.
/// Example: `expect_all_defined("rows", {x, y})`
void expect_all_defined(const char* operation, const std::vector<Tensor>& inputs);

/// The call of an operation, which begins with one: while in scope, a PlaceScope of the caller's
/// place. Throws ShapeError, naming the operation, for an undefined input.
/// Example: `const OperationScope scope("twice", Place::here(), x); x + x`
class OperationScope : PlaceScope {
 public:
  template <class... Inputs>
  OperationScope(const char* operation, const Place& place, const Inputs&... inputs)
      : PlaceScope(place) {
    expect_defined(operation, inputs...);
  }
};

/// Example: `zeros({4, 6})`
Tensor zeros(const Shape& shape);
/// Example: `ones({4, 6})`
Tensor ones(const Shape& shape);
/// Example: `full({4, 6}, 0.5)`
Tensor full(const Shape& shape, double value);
/// 0, 1, ..., count - 1, of shape (count), each rounded to `real`.
/// Example: `arange(10)`
Tensor arange(Index count);
/// `count` numbers at equal distances from `first` to `last`, of shape (count); `first` alone if
/// there is one. Throws ArgumentError for a negative count, as `arange` and `eye` do.
/// Example: `linspace(0, 1, 11)`
Tensor linspace(double first, double last, Index count);
/// The identity matrix of shape (count, count).
/// Example: `eye(3)`
Tensor eye(Index count);

/// Shape and values in NumPy's nested form; long axes are abbreviated.
std::string to_string(const Tensor& tensor);
std::ostream& operator<<(std::ostream& stream, const Tensor& tensor);

}  // namespace tapegrad::TAPEGRAD_SCALAR

template <>
struct fmt::formatter<tapegrad::Tensor> {
  constexpr auto parse(format_parse_context& context) { return context.begin(); }
  auto format(const tapegrad::Tensor& tensor, format_context& context) const {
    const std::string written = tapegrad::to_string(tensor);
    return std::copy(written.begin(), written.end(), context.out());
  }
};
