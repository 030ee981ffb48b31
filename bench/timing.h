#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace tapegrad::bench {

/// Milliseconds of a step.
struct Timing {
  double median, low, high;  ///< by the clock; low and high: the 10th and 90th percentile
  double processor;          ///< of all threads, the mean; other programs change it least
};

/// Warms up for 0.3 s (the second worker wakes late), then measures steps for 1 s, at least 10 and
/// at most 1000.
Timing measure(const std::function<void()>& step);

/// The middle one of these values, in their order; the upper one of two.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The most memory that the process has held so far; 0 where the system does not count it.
double peak_megabytes();

}  // namespace tapegrad::bench
