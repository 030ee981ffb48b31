#pragma once

#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// sqrt(x) with gradient 0 at 0, where the gradient of sqrt is infinite.
inline Tensor root(const Tensor& x) {
  const Tensor is_zero = equal(x, 0.0);
  return where(is_zero, 0.0, sqrt(where(is_zero, 1.0, x)));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
