#include "tapegrad/ops/internal/apply.h"

#include "tapegrad/ops/kernels/apply.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

Tensor zip(kernels::Binary loop, const Tensor& a, const Tensor& b) {
  Tensor y = Tensor::uninitialized(a.shape());
  kernels::apply(loop, a.size(), a.data(), b.data(), y.mutable_data());
  return y;
}

// Enters the place only when there is something to report, since these operations are the shortest.
template <class... Inputs>
void expect_defined_at(const Place& place, const char* operation, const Inputs&... inputs) {
  if ((inputs.defined() && ...)) [[likely]]
    return;
  const PlaceScope caller(place);
  expect_defined(operation, inputs...);
}

}  // namespace

Tensor apply(const char* operation, const Place& place, kernels::Unary loop, const Tensor& x) {
  expect_defined_at(place, operation, x);
  Tensor y = Tensor::uninitialized(x.shape());
  kernels::apply(loop, x.size(), x.data(), y.mutable_data());
  return y;
}

Tensor apply(const char* operation, const Place& place, kernels::Binary loop, const Tensor& a,
             const Tensor& b) {
  expect_defined_at(place, operation, a, b);
  if (a.shape() == b.shape()) return zip(loop, a, b);
  const PlaceScope caller(place);
  Tensor y = Tensor::uninitialized(broadcast(operation, a.shape(), b.shape()));
  kernels::apply(loop, {a.data(), a.shape()}, {b.data(), b.shape()}, y.shape(), y.mutable_data());
  return y;
}

void add_in_place(Tensor& a, const Tensor& b) {
  real* sum = a.mutable_data();
  kernels::apply(kernels::elementwise().add, a.size(), sum, b.data(), sum);
}

Tensor stretched(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  Tensor y = Tensor::uninitialized(shape);
  kernels::stretch({x.data(), x.shape()}, shape, y.mutable_data());
  return y;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
