#pragma once

#include <functional>

namespace tapegrad::bench {

/// Milliseconds of a step.
struct Timing {
  double median, low, high;  ///< by the clock; low and high: the 10th and 90th percentile
  double processor;          ///< of all threads, the mean; other programs change it least
};

/// Warms up for 0.3 s (the second worker wakes late), then measures steps for 1 s, at least 10 and
/// at most 1000.
Timing measure(const std::function<void()>& step);

/// The most memory that the process has held so far; 0 where the system does not count it.
double peak_megabytes();

}  // namespace tapegrad::bench
