#include "tapegrad/nn/functions/divisive.h"

#include <cmath>

#include "tapegrad/core/error.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/internal/field.h"
#include "tapegrad/ops/matmul.h"

namespace tapegrad::TAPEGRAD_SCALAR {

Tensor divisive_norm(const Tensor& x, const Tensor& summation, const Tensor& suppression,
                     const DivisiveOptions& options, Place place) {
  const OperationScope scope("divisive_norm", place, x, summation, suppression);
  expect<ArgumentError>(options.exponent > 0 && std::isfinite(options.exponent),
                        "divisive_norm: the exponent must be finite and positive: {}",
                        options.exponent);
  expect<ArgumentError>(std::isfinite(options.smoothing),
                        "divisive_norm: the smoothing must be finite: {}", options.smoothing);
  const double p = options.exponent;
  const Tensor energy = matmul(p == 2 ? square(x) : pow(abs(x), p), suppression, {.b = true});
  const Tensor pool = energy + options.smoothing * options.smoothing;
  return matmul(x, summation, {.b = true}) / (p == 2 ? sqrt(pool) : pow(pool, 1 / p));
}

Tensor centered_l1(const Tensor& x, const NormField& field, Place place) {
  const OperationScope scope("centered_l1", place, x);
  expect_field("centered_l1", field, x.shape());
  return mean(abs(x - center_over(field, x)));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
