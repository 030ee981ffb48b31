#pragma once

#include <string>
#include <vector>

#include "experiments/comparison.h"

namespace tapegrad::testing {

inline const lab::Metric by_loss{.value = "loss"};
inline const lab::Metric by_accuracy{.value = "accuracy", .higher_is_better = true, .worst = 0};

/// A run that ends with this value of the metric.
inline lab::Outcome ending(const lab::Metric& metric, double value) {
  return {.curve = {{0, 2}, {10, 1}}, .values = {{metric.value, value}}};
}

/// A system whose runs end with these values.
inline lab::Results results(const std::string& system, const lab::Metric& metric,
                            const std::vector<double>& values) {
  lab::Results results{system};
  for (const double value : values) results.runs.push_back(ending(metric, value));
  return results;
}

}  // namespace tapegrad::testing
