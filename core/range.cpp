#include "tapegrad/core/range.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tapegrad::TAPEGRAD_SCALAR {

Range range(const Tensor& tensor) {
  expect_defined("range", tensor);
  Range found{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), 0,
              0};
  for (const double value : tensor.values()) {
    if (!std::isfinite(value)) {
      ++found.non_finite;
      continue;
    }
    found.least = std::min(found.least, value);
    found.greatest = std::max(found.greatest, value);
    found.mean += value;
  }
  found.mean /= static_cast<double>(std::max<Index>(tensor.size() - found.non_finite, 1));
  return found;
}

std::string to_string(const Range& range) {
  if (range.least > range.greatest)
    return fmt::format("no finite value, {} not finite", range.non_finite);
  std::string line =
      fmt::format("{:.4g} to {:.4g}, mean {:.4g}", range.least, range.greatest, range.mean);
  if (range.non_finite > 0) line += fmt::format(", {} not finite", range.non_finite);
  return line;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
