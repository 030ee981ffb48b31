#include "tapegrad/zoo/kernels/filterbank.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/machine/profile.h"
#include "tapegrad/ops/internal/exp_sum.h"
#include "tapegrad/ops/kernels/scratch.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {
namespace {

constexpr auto least_sum = static_cast<real>(least_filter_sum);

// One Gaussian. The place is that in the grid, from its middle on; the scale makes distances those
// in units of sqrt(2) deviations.
struct Filter {
  real place, center, scale;

  Filter(const Filterbanks& banks, Index window, Index i)
      : place(static_cast<real>(i) - static_cast<real>(banks.filters - 1) / 2),
        center(banks.center[window] + place * banks.stride[window]),
        scale(static_cast<real>(std::numbers::sqrt2 / 2) / banks.deviation[window]) {}

  real distance(Index pixel) const { return (static_cast<real>(pixel) + 1 - center) * scale; }
};

// Weights that are not yet divided by their sum, which it returns.
real weigh(const Filter& filter, Index extent, real* weights) {
  for (Index a = 0; a < extent; ++a) {
    const real u = filter.distance(a), exponent = u * u;
    weights[a] = exponent >= static_cast<real>(farthest_weight)
                     ? -std::numeric_limits<real>::infinity()
                     : -exponent;
  }
  return detail::exp_sum(weights, extent, 0, weights);
}

struct OfFilter {
  double center, deviation;
};

// With weights w, their sum s and distances u: the gradients of w / s, by the sums of w, g w and
// their products with u and u^2. In double precision, so that wide images cost no digits.
OfFilter back(const Filter& filter, Index extent, const real* g, real* weights) {
  const real sum = weigh(filter, extent, weights);
  double g0 = 0, g1 = 0, g2 = 0, w1 = 0, w2 = 0;
  for (Index a = 0; a < extent; ++a) {
    const double u = filter.distance(a), w = weights[a];
    g0 += g[a] * w;
    g1 += g[a] * w * u;
    g2 += g[a] * w * u * u;
    w1 += w * u;
    w2 += w * u * u;
  }
  const double share = 1.0 / std::max(sum, least_sum);
  const double mean = sum > least_sum ? g0 * share : 0;
  return {2 * filter.scale * share * (g1 - mean * w1),
          std::numbers::sqrt2 * 2 * filter.scale * share * (g2 - mean * w2)};
}

// Calls body(window) for each.
template <class Body>
void for_windows(const Filterbanks& banks, const Body& body) {
  const Index weights = std::max<Index>(1, banks.filters * banks.extent);
  parallel_ranges(banks.count, std::max<Index>(1, elements_per_tile / weights),
                  [&](Index begin, Index end) {
                    for (Index window = begin; window < end; ++window) body(window);
                  });
}

}  // namespace

void filterbanks(const Filterbanks& banks, real* weights) {
  count_pass(3 * banks.count, banks.count * banks.filters * banks.extent);
  for_windows(banks, [&](Index window) {
    for (Index i = 0; i < banks.filters; ++i) {
      real* row = weights + (window * banks.filters + i) * banks.extent;
      const real share =
          1 / std::max(weigh(Filter(banks, window, i), banks.extent, row), least_sum);
      for (Index a = 0; a < banks.extent; ++a) row[a] *= share;
    }
  });
}

void filterbanks_back(const Filterbanks& banks, const real* g, FilterbankGradients d) {
  count_pass(banks.count * (3 + banks.filters * banks.extent), 3 * banks.count);
  for_windows(banks, [&](Index window) {
    const Scratch weights(banks.extent);
    double center = 0, stride = 0, deviation = 0;
    for (Index i = 0; i < banks.filters; ++i) {
      const Filter filter(banks, window, i);
      const real* row = g + (window * banks.filters + i) * banks.extent;
      const OfFilter of = back(filter, banks.extent, row, weights.data());
      center += of.center;
      stride += filter.place * of.center;
      deviation += of.deviation;
    }
    d.center[window] = static_cast<real>(center);
    d.stride[window] = static_cast<real>(stride);
    d.deviation[window] = static_cast<real>(deviation);
  });
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
