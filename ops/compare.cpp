#include "tapegrad/ops/compare.h"

#include "tapegrad/core/error.h"
#include "tapegrad/ops/internal/apply.h"
#include "tapegrad/ops/kernels/apply.h"
#include "tapegrad/ops/kernels/elementwise.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

using kernels::elementwise;

// Each as 0 or 1.
std::pair<Tensor, Tensor> truths(const char* operation, const Tensor& a, const Tensor& b) {
  expect_defined(operation, a, b);
  broadcast(operation, a.shape(), b.shape());
  return {not_equal(a, 0.0), not_equal(b, 0.0)};
}

}  // namespace

Tensor equal(const Tensor& a, const Tensor& b, Place place) {
  return apply("equal", place, elementwise().equal, a, b);
}
Tensor not_equal(const Tensor& a, const Tensor& b, Place place) {
  return apply("not_equal", place, elementwise().not_equal, a, b);
}
Tensor less(const Tensor& a, const Tensor& b, Place place) {
  return apply("less", place, elementwise().less, a, b);
}
Tensor less_equal(const Tensor& a, const Tensor& b, Place place) {
  return apply("less_equal", place, elementwise().less_equal, a, b);
}
Tensor greater(const Tensor& a, const Tensor& b, Place place) {
  return apply("greater", place, elementwise().greater, a, b);
}
Tensor greater_equal(const Tensor& a, const Tensor& b, Place place) {
  return apply("greater_equal", place, elementwise().greater_equal, a, b);
}
Tensor isfinite(const Tensor& x, Place place) {
  return apply("isfinite", place, elementwise().isfinite, x);
}

Tensor logical_and(const Tensor& a, const Tensor& b, Place place) {
  const PlaceScope caller(place);
  const auto [first, second] = truths("logical_and", a, b);
  return first * second;
}

Tensor logical_or(const Tensor& a, const Tensor& b, Place place) {
  const PlaceScope caller(place);
  const auto [first, second] = truths("logical_or", a, b);
  return maximum(first, second);
}

Tensor logical_not(const Tensor& x, Place place) {
  const OperationScope scope("logical_not", place, x);
  return equal(x, 0.0);
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b, Place place) {
  const OperationScope scope("where", place, condition, a, b);
  const Shape shape =
      broadcast("where", broadcast("where", condition.shape(), a.shape()), b.shape());
  const Tensor c = stretched(condition, shape), x = stretched(a, shape), y = stretched(b, shape);
  Tensor chosen = Tensor::uninitialized(shape);
  kernels::choose(shape.size(), c.data(), x.data(), y.data(), chosen.mutable_data());
  return record("where", chosen, place,
                edge(a, [condition](const Tensor& g) { return where(condition, g, 0.0); }),
                edge(b, [condition](const Tensor& g) { return where(condition, 0.0, g); }));
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, double value, Place place) {
  const OperationScope scope("masked_fill", place, x, mask);
  expect(broadcast("masked_fill", x.shape(), mask.shape()) == x.shape(),
         "masked_fill: mask {} does not broadcast to {}", mask.shape(), x.shape());
  return where(mask, value, x, place);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
