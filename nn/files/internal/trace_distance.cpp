#include "tapegrad/nn/files/internal/trace_distance.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

constexpr double masked = 1e18;
constexpr double infinite = std::numeric_limits<double>::infinity();

// The unit in the last place of numbers as large as x.
double unit(double x, double epsilon) {
  return epsilon * std::exp2(std::floor(std::log2(std::max(x, 1e-30))));
}

}  // namespace

double largest(const Tensor& x) {
  double most = 0;
  for (const double value : x.values())
    if (std::abs(value) < masked) most = std::max(most, std::abs(value));
  return most;
}

TraceDistance trace_distance(const Tensor& a, const Tensor& b, double epsilon, double least) {
  TraceDistance found;
  if (!a.defined() && !b.defined()) return found;
  if (!a.defined() || !b.defined() || a.shape() != b.shape()) {
    found.ulps = found.relative = infinite;
    return found;
  }
  const double scale = unit(std::max({largest(a), largest(b), least}), epsilon);
  for (Index i = 0; i < a.size(); ++i) {
    const double x = a.data()[i], y = b.data()[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    ++found.different;
    const double apart = std::abs(x - y);
    const double size = std::max(std::abs(x), std::abs(y));
    const double ulps =
        std::isfinite(apart) ? apart / (size < masked ? scale : unit(size, epsilon)) : infinite;
    if (ulps > found.ulps) found = {ulps, apart / size, i, found.different};
  }
  return found;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
