#pragma once

#include <string>
#include <vector>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// What several trainings with other seeds have in common, and how far they lie apart.
struct Spread {
  double mean = 0;
  double deviation = 0;  ///< of the sample; 0 for one value

  Spread() = default;
  explicit Spread(const std::vector<double>& values);
  /// "0.123 +- 0.004"
  std::string to_string(int decimals = 3) const;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
