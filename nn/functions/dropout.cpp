#include "tapegrad/nn/functions/dropout.h"

#include "tapegrad/core/error.h"
#include "tapegrad/nn/functions/internal/dropout.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/kernels/dropout.h"

namespace tapegrad::TAPEGRAD_SCALAR {

Tensor composite::dropout(const Tensor& x, double rate, Random& random) {
  const Tensor factors = random.bernoulli(x.shape(), 1 - rate) / (1 - rate), y = x * factors;
  return where(factors, y, detach(y));
}

namespace {

// Multiplies each element by its factor, 0 or 1 / (1 - rate), with one of two products. The
// transpose selects, so that what is dropped gets 0 whatever arrives.
Tensor multiplied(const Choices& choices, const Tensor& x, double rate, kernels::Binary product,
                  Place place) {
  const auto factor = static_cast<real>(1 / (1 - rate));
  Tensor y = Tensor::uninitialized(x.shape());
  kernels::dropout(choices, factor, product, x.size(), x.data(), y.mutable_data());
  return record("dropout", y, place, edge(x, [choices, rate](const Tensor& g) {
                  return multiplied(choices, g, rate, kernels::elementwise().weigh, {});
                }));
}

}  // namespace

Tensor dropout_by(const Choices& choices, const Tensor& x, double rate, Place place) {
  const PlaceScope caller(place);
  return multiplied(choices, x, rate, kernels::elementwise().mul, place);
}

Tensor dropout(const Tensor& x, double rate, Random& random, Place place) {
  const OperationScope scope("dropout", place, x);
  expect<ArgumentError>(rate >= 0 && rate < 1, "dropout: the rate must lie in [0, 1): {}", rate);
  if (rate == 0) return x;
  if (Composite::active()) return composite::dropout(x, rate, random);
  return dropout_by(random.choices(x.size(), 1 - rate), x, rate, place);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
