#include "experiments/drift_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

const Metric held_out{.value = "test"};

double largest(const RunTrace& trace) {
  double value = 0;
  for (const auto& [step, y] : trace)
    if (std::isnan(y) || y > value) value = y;
  return value;
}

double average(const RunTrace& trace) {
  double sum = 0;
  for (const auto& [step, y] : trace) sum += y;
  return sum / trace.size();
}

double largest_of_first_tenth(const RunTrace& trace) {
  const Index end = trace.back().first / 10;
  RunTrace first{trace.front()};
  for (const auto& point : trace)
    if (point.first <= end) first.push_back(point);
  return largest(first);
}

double rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  expect<ArgumentError>(a.size() == b.size() && a.size() >= 2, "rank_correlation: {} and {} values",
                        a.size(), b.size());
  // Twice the rank of each value, less a constant.
  const auto ranks = [](const std::vector<double>& values) {
    std::vector<double> result;
    for (const double value : values) {
      const auto below = std::ranges::count_if(values, [&](double other) { return other < value; });
      const auto above = std::ranges::count_if(values, [&](double other) { return other > value; });
      result.push_back(below - above);
    }
    return result;
  };
  const auto inner = [](const std::vector<double>& x, const std::vector<double>& y) {
    return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  };
  const std::vector<double> of_a = ranks(a), of_b = ranks(b);  // their means are 0
  const double sizes = std::sqrt(inner(of_a, of_a) * inner(of_b, of_b));
  return sizes == 0 ? 0 : inner(of_a, of_b) / sizes;
}

double correlation(const std::vector<DriftCost>& settings, double DriftCost::*predictor) {
  std::vector<double> costs, values;
  for (const DriftCost& each : settings) {
    costs.push_back(each.cost);
    values.push_back(each.*predictor);
  }
  return rank_correlation(costs, values);
}

std::vector<JudgedClaim> predictor_claims(
    const std::map<std::string, std::vector<DriftCost>>& by_task) {
  std::string ordered, early;
  Index better = 0, soon = 0;
  for (const auto& [task, settings] : by_task) {
    const double weights = correlation(settings, &DriftCost::weights),
                 ratio = correlation(settings, &DriftCost::ratio),
                 first = correlation(settings, &DriftCost::first_weights);
    better += weights > ratio ? 1 : 0;
    soon += first >= 0.5 ? 1 : 0;
    ordered += fmt::format("{}{} {:.2f} against {:.2f}", ordered.empty() ? "" : ", ", task, weights,
                           ratio);
    early += fmt::format("{}{} {:.2f}", early.empty() ? "" : ", ", task, first);
  }
  const auto judged = [&](Index count) {
    const std::string reason = fmt::format("in {} of {} tasks", count, by_task.size());
    return Judgement{count == std::ssize(by_task) ? Verdict::supported
                     : count == 0                 ? Verdict::contradicted
                                                  : Verdict::inconclusive,
                     reason};
  };
  return {{"",
           "The common mode of the weights, rms(c) / rms(V), orders the costs of a detached mean "
           "better than |mu| / s does.",
           "rank correlations with the cost: " + ordered, judged(better)},
          {"",
           "The largest rms(c) / rms(V) in the first tenth of the steps has a rank correlation of "
           "0.5 or more with the cost.",
           early, judged(soon)}};
}

Claim common_mode_claim(const std::vector<ByNorm>& settings) {
  double attached = 0, detached = 1;
  bool holds = true;  // false also for a NaN
  for (const ByNorm& results : settings) {
    for (const Outcome& run : results.at("layer_simple").runs) {
      const double share = largest(trace_of(run, "common"));
      attached = std::max(attached, share);
      holds = holds && share < 1e-3;
    }
    for (const Outcome& run : results.at("detach_mean").runs) {
      const double share = trace_of(run, "common").front().second;
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

JudgedClaim cheaper_mean_claim(const std::string& run, const Results& detached_mean,
                               const Results& detached_scale) {
  return {"Xu et al. 2019, table 3",
          fmt::format("{}: detaching the mean costs less than detaching the scale.", run),
          fmt::format("losses of {} and {}", detached_mean.spread(held_out).to_string(),
                      detached_scale.spread(held_out).to_string()),
          better(held_out, detached_mean, detached_scale)};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
