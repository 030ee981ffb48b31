#include "tapegrad/ops/dropout.h"

#include "tapegrad/core/error.h"
#include "tapegrad/core/parallel.h"
#include "tapegrad/core/profile.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/kernels/elementwise.h"

namespace tapegrad {
namespace {

void expect_rate(double rate) {
  expect(rate >= 0 && rate < 1, "dropout: the rate must lie in [0, 1): {}", rate);
}

// x times `factor` where an element is kept, times 0 elsewhere. Its own transpose.
Tensor kept(const Tensor& x, const Choices& choices, real factor, Place place) {
  count_pass(x.size(), x.size());
  Tensor y = Tensor::uninitialized(x.shape());
  real* out = y.mutable_data();
  parallel_ranges(x.size(), elements_per_tile, [&](Index begin, Index end) {
    choices.read(begin, end - begin, factor, out + begin);
    kernels::elementwise().mul({out + begin, false}, {x.data() + begin, false}, out + begin,
                               end - begin);
  });
  return record("dropout", y, place, edge(x, [choices, factor](const Tensor& g) {
                  return kept(g, choices, factor, {});
                }));
}

}  // namespace

Tensor composite::dropout(const Tensor& x, double rate, Random& random) {
  return x * (random.bernoulli(x.shape(), 1 - rate) / (1 - rate));
}

Tensor dropout(const Tensor& x, double rate, Random& random, Place place) {
  expect_rate(rate);
  if (rate == 0) return x;
  const PlaceScope caller(place);
  if (Composite::active()) return composite::dropout(x, rate, random);
  return kept(x, random.choices(x.size(), 1 - rate), static_cast<real>(1 / (1 - rate)), place);
}

}  // namespace tapegrad
