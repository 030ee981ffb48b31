#include "tapegrad/train/spread.h"

#include <fmt/format.h>

#include <cmath>

namespace tapegrad::TAPEGRAD_SCALAR {

Spread::Spread(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  for (const double value : values) mean += value / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  if (count > 1) deviation = std::sqrt(squares / (count - 1));
}

std::string Spread::to_string(int decimals) const {
  return fmt::format("{:.{}f} +- {:.{}f}", mean, decimals, deviation, decimals);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
