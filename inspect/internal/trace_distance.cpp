#include "tapegrad/inspect/internal/trace_distance.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// The unit in the last place of numbers as large as x.
double unit(double x, double epsilon) {
  return std::ldexp(epsilon, std::ilogb(std::max(x, 1e-30)));
}

// The largest finite element of both, except for what a mask has put there.
double largest(const Tensor& a, const Tensor& b, double epsilon) {
  double most = 0, of_mask = 0, least_of_mask = infinite;
  for (Index i = 0; i < a.size(); ++i) {
    const double x = a.data()[i], y = b.data()[i], size = std::max(std::abs(x), std::abs(y));
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    const bool is_whole = is_mask_value(x) || size * epsilon >= 1;  // in the lower precision
    if (is_whole && std::abs(x - y) <= epsilon * size) {
      of_mask = std::max(of_mask, size);
      least_of_mask = std::min(least_of_mask, size);
    } else {
      most = std::max(most, size);
    }
  }
  return most * mask_factor <= least_of_mask ? most : std::max(most, of_mask);
}

}  // namespace

double largest(const Tensor& x) {
  double most = 0;
  for (const double value : x.values())
    if (std::isfinite(value)) most = std::max(most, std::abs(value));
  return most;
}

bool is_mask_value(double x) {
  return !std::isfinite(x) || (std::abs(x) >= mask_factor && std::trunc(x) == x);
}

TraceDistance trace_distance(const Tensor& a, const Tensor& b, double epsilon, double least) {
  TraceDistance found;
  if (!a.defined() && !b.defined()) return found;
  if (!a.defined() || !b.defined() || a.shape() != b.shape()) {
    found.ulps = found.relative = infinite;
    return found;
  }
  const double scale = std::max(largest(a, b, epsilon), least);
  for (Index i = 0; i < a.size(); ++i) {
    const double x = a.data()[i], y = b.data()[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    ++found.different;
    const double apart = std::abs(x - y);
    const double size = std::max(std::abs(x), std::abs(y));
    const double ulps =  // an element larger than the scale belongs to a mask
        std::isfinite(apart) ? apart / unit(std::max(size, scale), epsilon) : infinite;
    if (ulps > found.ulps) found = {ulps, apart / size, i, found.different};
  }
  return found;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
