#include "tapegrad/core/tensor.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/machine/profile.h"
#include "tapegrad/core/options.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

constexpr Index shown_per_axis = 6;

void write_values(const Tensor& tensor, int axis, Index offset, std::string& out) {
  if (axis == tensor.rank()) {
    const real value = tensor.data()[offset];
    out += std::isnan(value) ? "nan" : fmt::format("{:.5g}", value);  // without its sign
    return;
  }
  const Index extent = tensor.shape()[axis];
  const Index stride = tensor.shape().count(axis + 1, tensor.rank());
  out += '[';
  for (Index i = 0; i < extent; ++i) {
    if (i > 0) out += ", ";
    if (extent > shown_per_axis && i == shown_per_axis / 2) {
      out += "..., ";
      i = extent - shown_per_axis / 2;
    }
    write_values(tensor, axis + 1, offset + i * stride, out);
  }
  out += ']';
}

Storage allocate_for(const Shape& shape) {
  const std::size_t bytes = static_cast<std::size_t>(shape.size()) * sizeof(real);
  try {
    return Storage::allocate(bytes);
  } catch (const MemoryError&) {
    fail<MemoryError>("tensor: no memory for shape {}: {} bytes", shape, bytes);
  }
}

}  // namespace

Tensor::Tensor(double value) : Tensor(uninitialized({})) { *data_ = static_cast<real>(value); }

Tensor::Tensor(const Shape& shape, std::span<const real> values) : Tensor(uninitialized(shape)) {
  expect(static_cast<Index>(values.size()) == shape.size(),
         "tensor: shape {} needs {} values: {} given", shape, shape.size(), values.size());
  std::copy(values.begin(), values.end(), data_);
}

Tensor Tensor::uninitialized(const Shape& shape) {
  Storage storage = allocate_for(shape);
  auto* data = static_cast<real*>(storage.data());
  return {std::move(storage), data, shape};
}

Tensor Tensor::sharing(const Shape& shape, const real* values, std::shared_ptr<const void> owner) {
  if (shape.size() == 0) return uninitialized(shape);
  const auto address = reinterpret_cast<std::uintptr_t>(values);
  expect<ArgumentError>(address != 0 && address % alignof(real) == 0,
                        "tensor: cannot share values at {:#x}, not a multiple of {}: {}; copy them",
                        address, alignof(real), shape);
  const Index bytes = shape.size() * Index{sizeof(real)};
  return {Storage::foreign(bytes, std::move(owner)), const_cast<real*>(values), shape};
}

real Tensor::item(Place place) const {
  const OperationScope scope("item", place, *this);
  expect(size() == 1, "item: needs a tensor of one element: {}", shape_);
  return *data_;
}

void Tensor::refuse_writing() const {
  fail<Error>(
      "mutable_data: {}: {}",
      defined() ? "another tensor, tape, parameter or owner shares the values" : "undefined tensor",
      shape_);
}

Tensor Tensor::view(const Shape& shape, Index offset) const {
  expect_defined("view", *this);
  expect(offset >= 0 && offset <= size() && shape.size() <= size() - offset,
         "view: {} from element {} on does not fit into {}", shape, offset, shape_);
  return {storage_, data_ + offset, shape};
}

void detail::refuse_undefined(const char* operation, std::size_t input) {
  fail(
      "{}: input {} is undefined: it was made without a value, or is a parameter that its layer "
      "does not have",
      operation, input);
}

void expect_all_defined(const char* operation, const std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].defined()) detail::refuse_undefined(operation, i);
}

Tensor zeros(const Shape& shape) { return full(shape, 0); }
Tensor ones(const Shape& shape) { return full(shape, 1); }

Tensor full(const Shape& shape, double value) {
  Tensor tensor = Tensor::uninitialized(shape);
  count_pass(0, tensor.size());
  parallel_ranges(tensor.size(), elements_per_tile,
                  [value, to = tensor.mutable_data()](Index begin, Index end) {
                    std::fill(to + begin, to + end, static_cast<real>(value));
                  });
  return tensor;
}

Tensor arange(Index count) {
  Tensor tensor = Tensor::uninitialized({expect_not_negative("arange", "count", count)});
  // Counting in `real` would stop at 2^24 in single precision.
  for (Index i = 0; i < count; ++i) tensor.mutable_data()[i] = static_cast<real>(i);
  return tensor;
}

Tensor linspace(double first, double last, Index count) {
  Tensor tensor = Tensor::uninitialized({expect_not_negative("linspace", "count", count)});
  for (Index i = 0; i < count; ++i) {
    const double share = count == 1 ? 0 : static_cast<double>(i) / static_cast<double>(count - 1);
    tensor.mutable_data()[i] = static_cast<real>((1 - share) * first + share * last);
  }
  return tensor;
}

Tensor eye(Index count) {
  Tensor tensor = zeros({expect_not_negative("eye", "count", count), count});
  for (Index i = 0; i < count; ++i) tensor.mutable_data()[i * (count + 1)] = 1;
  return tensor;
}

std::string to_string(const Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  std::string values;
  write_values(tensor, 0, 0, values);
  return fmt::format("{} {}", to_string(tensor.shape()), values);
}

std::ostream& operator<<(std::ostream& stream, const Tensor& tensor) {
  return stream << to_string(tensor);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
