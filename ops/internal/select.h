#pragma once

// Selection, as in operations that choose among values. Multiplying by a mask of 0 and 1 would make
// NaN of an infinity that is not selected.

#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/internal/apply.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// 1 where the element of x that was to be chosen is the value y, otherwise 0. A NaN always is. A
/// constant.
inline Tensor chosen(const Tensor& x, const Tensor& y) {
  return apply("chosen", Place::here(), kernels::elementwise().chosen, x, y);
}

/// x weight, but 0 where the weight is 0, even if x is NaN or infinite. The gradient of x is
/// weighed likewise. Both broadcast.
inline Tensor weighed(const Tensor& x, const Tensor& weight, Place place = Place::here()) {
  return record("mul", apply("mul", place, kernels::elementwise().weigh, x, weight), place,
                edge(x, [weight](const Tensor& g) { return weighed(g, weight); }),
                edge(weight, [x](const Tensor& g) { return g * x; }));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
