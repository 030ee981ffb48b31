#include "experiments/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tapegrad/core/error.h"
#include "tapegrad/core/machine/instruction_set.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

// The mean over seeds of what `trace` reads of each run.
template <class Read>
Series mean_over_seeds(const Results& results, const Read& trace) {
  Series mean{results.system, {}};
  std::vector<std::vector<double>> values;  // of all seeds, at each point
  for (const Outcome& run : results.runs) {
    std::size_t at = 0;
    for (const auto& [step, y] : trace(run)) {
      if (at == values.size()) {
        values.emplace_back();
        mean.points.emplace_back(step, 0);
      }
      values[at++].push_back(y);
    }
  }
  const std::size_t seeds = results.runs.size();
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
  return value_of(outcome, value);
}

double Metric::advantage(double a, double b) const {
  if (a == b) return 0;
  return higher_is_better ? a - b : b - a;
}

std::vector<double> Results::values(const Metric& metric) const {
  std::vector<double> values;
  for (const Outcome& run : runs) values.push_back(metric.of(run));
  return values;
}

void ComparisonFlags::add_to(Flags& flags, Index fewest_seeds) {
  flags.setting("--seeds", seeds, "Runs of each system").check(between(fewest_seeds, 1000));
  flags.setting("--seed", seed, "First seed of weights and batches; seed of drawn data");
  flags.setting("--threads", threads, "Threads to use; results do not depend on it")
      .check(between(1, 1024));
}

void ComparisonFlags::leave_out_choosing_seeds(Index count) const {
  if (seed < choosing_seed + count && choosing_seed < seed + seeds)
    throw FlagError("--seed",
                    fmt::format("{} is the seed by which settings are chosen", choosing_seed));
}

Comparison::Comparison(Cluster& cluster, const Ledger& ledger, const ComparisonFlags& flags)
    : cluster_(cluster), ledger_(ledger), flags_(flags) {
  cluster.expect_same("version", TAPEGRAD_VERSION);
  cluster.expect_same("instruction set, see TAPEGRAD_TARGET,", instruction_set());
  cluster.expect_same("data", ledger.data());
}

std::vector<Comparison::Run> Comparison::divided(const std::vector<System>& systems) const {
  std::set<std::string> names;
  Json same;
  std::string lacks;
  std::vector<Run> runs;
  for (const System& system : systems) {
    expect<ArgumentError>(names.insert(system.name).second,
                          "comparison: two systems have the same name: {}", system.name);
    same.push_back({system.name, system.configuration});
    for (Index i = 0; i < flags_.seeds; ++i) {
      const std::uint64_t seed = flags_.seed + i;
      lacks += ledger_.has(system.name, seed) ? '0' : '1';
      runs.push_back({system, {seed, std::ssize(runs)}});
    }
  }
  cluster_.expect_same("the list of systems", same.dump());
  // The first process decides: while another one looks, a third may already keep a run.
  lacks = cluster_.gather(lacks)[0];
  Index next = 0;
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (lacks[i] == '1') runs[i].process = next++ % cluster_.size();
  return runs;
}

std::vector<Results> Comparison::train(const std::vector<System>& systems,
                                       const std::function<void(const Results&)>& trained) const {
  std::vector<Run> runs = divided(systems);
  std::vector<Results> results;
  // The systems whose outcomes are known, in order.
  const auto collect = [&] {
    while (results.size() < systems.size()) {
      Results next{systems[results.size()].name};
      const auto first = runs.begin() + std::ssize(results) * flags_.seeds;
      for (auto each = first; each != first + flags_.seeds; ++each) {
        if (!each->outcome) return;
        next.runs.push_back(*each->outcome);
      }
      results.push_back(std::move(next));
      if (trained) trained(results.back());
    }
  };
  for (Run& each : runs) {
    if (each.process != cluster_.rank()) continue;
    each.outcome = ledger_.outcome(each.system.name, each.trial.seed, each.system.configuration,
                                   [&] { return each.system.train(each.trial); });
    collect();
  }
  for (Run& each : runs) {
    const bool own = each.process == cluster_.rank();
    const std::vector<std::string> all = cluster_.gather(own ? to_bytes(*each.outcome) : "");
    each.outcome = from_bytes(all[each.process]);
    collect();
  }
  return results;
}

Series mean_training_curve(const Results& results) {
  return mean_over_seeds(results, [](const Outcome& run) {
    RunTrace losses;
    for (const CurvePoint& point : run.curve) losses.emplace_back(point.step, point.training);
    return losses;
  });
}

Series mean_validation_curve(const Results& results) {
  return mean_over_seeds(results, [](const Outcome& run) {
    RunTrace losses;
    for (const CurvePoint& point : run.curve)
      if (point.validation) losses.emplace_back(point.step, *point.validation);
    return losses;
  });
}

Series mean_trace(const Results& results, const std::string& trace) {
  return mean_over_seeds(results, [&](const Outcome& run) { return trace_of(run, trace); });
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
    const double count = stretch;
    series.points.emplace_back(end, y / count);
    if (!curve.deviations.empty()) series.deviations.push_back(deviation / count);
  }
  return series;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
