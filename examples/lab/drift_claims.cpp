#include "lab/drift_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tapegrad::TAPEGRAD_SCALAR::lab {

const Metric held_out{.value = "test"};

double largest(const Trace& trace) {
  double value = 0;
  for (const auto& [step, y] : trace)
    if (std::isnan(y) || y > value) value = y;
  return value;
}

Claim common_mode_claim(const std::vector<ByNorm>& settings) {
  double attached = 0, detached = 1;
  bool holds = true;  // false also for a NaN
  for (const ByNorm& results : settings) {
    for (const Outcome& training : results.at("layer_simple").trainings) {
      const double share = largest(trace_of(training, "common"));
      attached = std::max(attached, share);
      holds = holds && share < 1e-3;
    }
    for (const Outcome& training : results.at("detach_mean").trainings) {
      const double share = trace_of(training, "common").front().second;
      detached = std::min(detached, share);
      holds = holds && share > 0.01;
    }
  }
  return {
      "Gradients of what feeds norms have a common mode where the mean is detached, and none "
      "where it is attached.",
      fmt::format("its share at most {:.1e} attached; in the first step at least {:.2f} "
                  "detached",
                  attached, detached),
      holds, "below 1e-3 attached, above 0.01 detached"};
}

JudgedClaim cheaper_mean_claim(const std::string& training, const Results& detached_mean,
                               const Results& detached_scale) {
  return {"Xu et al. 2019, table 3",
          fmt::format("{}: detaching the mean costs less than detaching the scale.", training),
          fmt::format("losses of {} and {}", detached_mean.spread(held_out).to_string(),
                      detached_scale.spread(held_out).to_string()),
          better(held_out, detached_mean, detached_scale)};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
