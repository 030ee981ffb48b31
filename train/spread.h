#pragma once

#include <string>
#include <vector>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Mean and standard deviation over runs with different seeds.
/// Example: `Spread({0.91, 0.93, 0.92}).to_string()`
struct Spread {
  double mean = 0;
  double deviation = 0;  ///< of the sample; 0 for one value

  Spread() = default;
  explicit Spread(const std::vector<double>& values);
  /// "0.123 +- 0.004"
  std::string to_string(int decimals = 3) const;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
