#include "tapegrad/ops/dropout.h"

#include "tapegrad/core/error.h"
#include "tapegrad/ops/elementwise.h"

namespace tapegrad {

Tensor dropout(const Tensor& x, double rate, Random& random, Place place) {
  expect(rate >= 0 && rate < 1, "dropout: the rate must lie in [0, 1): {}", rate);
  if (rate == 0) return x;
  const PlaceScope caller(place);
  return x * (random.bernoulli(x.shape(), 1 - rate) / (1 - rate));
}

}  // namespace tapegrad
