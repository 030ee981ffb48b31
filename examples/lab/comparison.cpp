#include "lab/comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

Json at_rate(Json configuration, double rate) {
  configuration["learning rate"] = rate;
  return configuration;
}

template <class Value>
Series mean_curve(const Results& results, const Value& value) {
  Series mean{results.system, {}};
  std::vector<std::vector<double>> values;  // those of all seeds, at each point
  for (const Outcome& training : results.trainings) {
    std::size_t at = 0;
    for (const CurvePoint& point : training.curve) {
      const std::optional<double> y = value(point);
      if (!y) continue;
      if (at == values.size()) {
        values.emplace_back();
        mean.points.emplace_back(point.step, 0);
      }
      values[at++].push_back(*y);
    }
  }
  const std::size_t seeds = results.trainings.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    expect<DataError>(values[i].size() == seeds, "{}: the curves of its seeds have other points",
                      results.system);
    const Spread spread(values[i]);
    mean.points[i].second = spread.mean;
    if (seeds > 1) mean.deviations.push_back(spread.deviation);
  }
  return mean;
}

}  // namespace

double Metric::of(const Outcome& outcome) const {
  if (outcome.diverged()) return worst;
  const auto found = outcome.values.find(value);
  expect<DataError>(found != outcome.values.end(), "{}: no training has such a value", value);
  return found->second;
}

double Metric::advantage(double a, double b) const {
  if (a == b) return 0;
  return higher_is_better ? a - b : b - a;
}

std::vector<double> Results::values(const Metric& metric) const {
  std::vector<double> values;
  for (const Outcome& training : trainings) values.push_back(metric.of(training));
  return values;
}

void ComparisonFlags::add_to(Flags& flags, Index fewest_seeds) {
  flags.setting("--seeds", seeds, "Trainings of each system")->check(between(fewest_seeds, 1000));
  flags.setting("--seed", seed, "First seed of weights and batches; seed of drawn data");
  flags.setting("--threads", threads, "Threads to use; results do not depend on it")
      ->check(between(1, 1024));
}

Results Comparison::train(const System& system, double rate) const {
  Results results{system.name, rate};
  for (Index i = 0; i < flags_.seeds; ++i) {
    const Trial trial{flags_.seed + static_cast<std::uint64_t>(i), rate};
    results.trainings.push_back(
        ledger_.outcome(system.name, trial.seed,
                        rate == 0 ? system.configuration : at_rate(system.configuration, rate),
                        [&] { return system.train(trial); }));
  }
  return results;
}

Results Comparison::train_at_best_rate(const System& system, const std::vector<double>& rates,
                                       const Metric& metric) const {
  constexpr std::uint64_t seed = 101;  // not used by the compared trainings
  double best = rates.at(0), best_value = 0;
  for (const double rate : rates) {
    const Outcome outcome = ledger_.outcome(fmt::format("{} at {}", system.name, rate), seed,
                                            at_rate(system.configuration, rate), [&] {
                                              return system.train({seed, rate});
                                            });
    const double value = metric.of(outcome);
    if (rate != rates[0] && !(metric.advantage(value, best_value) > 0)) continue;
    best = rate;
    best_value = value;
  }
  return train(system, best);
}

std::string rates_text(const std::vector<Results>& results) {
  std::string text;
  for (const Results& each : results)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", each.system, each.rate);
  return text;
}

Series mean_training_curve(const Results& results) {
  return mean_curve(results, [](const CurvePoint& point) { return std::optional(point.training); });
}

Series mean_validation_curve(const Results& results) {
  return mean_curve(results, [](const CurvePoint& point) { return point.validation; });
}

Series thinned(const Series& curve) {
  const std::size_t stretch = std::max<std::size_t>(1, curve.points.size() / 50);
  Series series{curve.name, {}};
  for (std::size_t end = stretch; end <= curve.points.size(); end += stretch) {
    double y = 0, deviation = 0;
    for (std::size_t i = end - stretch; i < end; ++i) {
      y += curve.points[i].second;
      if (!curve.deviations.empty()) deviation += curve.deviations[i];
    }
    const auto count = static_cast<double>(stretch);
    series.points.emplace_back(static_cast<double>(end), y / count);
    if (!curve.deviations.empty()) series.deviations.push_back(deviation / count);
  }
  return series;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
