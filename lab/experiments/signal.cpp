#include "experiments/signal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/condition_tasks.h"
#include "experiments/drift_claims.h"
#include "tapegrad/core/error.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

std::vector<std::string> signal_systems() {
  std::vector<std::string> systems;
  for (const std::string norm : {"layer_simple", "detach_mean", "detach_variance", "detach"}) {
    systems.push_back(norm);
    for (const std::string& constraint : signal_constraints) systems.push_back(norm + constraint);
  }
  for (const std::string norm : {"rms_simple", "rms_detached"})
    for (const char* constraint : {"", "+center"}) systems.push_back(norm + constraint);
  return systems;
}

std::vector<ConditionTask> signal_conditions() {
  std::vector<ConditionTask> all;
  for (const std::string optimizer : {"adam", "momentum"}) {
    const auto add = [&](const std::string& name, const std::string& title,
                         const Condition& condition, double seconds) {
      all.push_back(
          {fmt::format("{}_{}", name, optimizer), title, condition, seconds, signal_systems()});
    };
    for (const auto& [layers, placement] :
         {std::pair{2, "pre"}, std::pair{6, "pre"}, std::pair{2, "post"}})
      all.push_back(small_transformer(layers, placement, optimizer, layers == 2 ? 1 : 2,
                                      signal_systems(), true));
    for (const Index layers : {6, 12})
      add(fmt::format("perceptron_{}", layers), fmt::format("perceptron, {} layers", layers),
          {"mnist", optimizer, {.layers = layers}, 300, 64}, layers == 6 ? 0.3 : 0.4);
    add("conv_net", "ConvNet", {"cnn", optimizer, {}, 5160}, 36);
  }
  return all;
}

double last(const RunTrace& trace) { return trace.back().second; }

// The farthest of a trace's numbers from `target`, among runs of systems that have the constraint.
double farthest(const Matrix& matrix, const std::string& constraint, const char* trace,
                double (*number)(const RunTrace&), double target) {
  double most = 0;
  for (const MatrixColumn& column : matrix)
    for (const auto& [system, cell] : column.cells)
      if (system.find(constraint) != std::string::npos)
        for (const Outcome& run : cell.results.runs)
          most = std::max(most, std::abs(number(trace_of(run, trace)) - target));
  return most;
}

}  // namespace

const std::vector<std::string> signal_constraints{"+center", "+unit", "+center+unit"};

const Paper& signal_paper() {
  static const Paper paper =
      paper_of("signal", signal_conditions(),
               {{.name = "ud_ewt_adam",
                 .title = "UD-EWT, UAS in %",
                 .of_paper = "",
                 .unit = "% UAS",
                 .loss = "nats",
                 .metric = {.value = "test", .higher_is_better = true, .worst = 0},
                 .decimals = 2,
                 .systems = signal_systems()}});
  return paper;
}

std::vector<MatrixTask> signal_tasks(const std::vector<std::string>& names,
                                     const problems::Origin& origin, problems::Size size) {
  return condition_tasks(signal_conditions(), names, origin, size);
}

std::string Ratio::to_string() const {
  if (std::isnan(value)) return "no cost";
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", value, low, high);
}

Ratio ratio_of_leads(const Metric& metric, const Results& a, const Results& b, const Results& c,
                     const Results& d) {
  constexpr Index resamples = 10000;
  const std::vector<double> of[] = {a.values(metric), b.values(metric), c.values(metric),
                                    d.values(metric)};
  const auto count = std::ssize(of[0]);
  for (const std::vector<double>& values : of)
    expect<DataError>(std::ssize(values) == count && count > 0, "{}: its runs cannot be paired",
                      a.system);
  // This is the ratio over the seeds that `choose` returns.
  const auto ratio = [&](const auto& choose, double without_lead) {
    double part = 0, whole = 0;
    for (Index i = 0; i < count; ++i) {
      const Index seed = choose(i);
      part += metric.advantage(of[0][seed], of[1][seed]);
      whole += metric.advantage(of[2][seed], of[3][seed]);
    }
    return whole > 0 ? part / whole : without_lead;
  };
  Random random = Random(1).stream(78);
  std::vector<double> low, high;
  for (Index i = 0; i < resamples; ++i) {
    std::vector<Index> seeds;
    for (Index j = 0; j < count; ++j) seeds.push_back(random.below(count));
    const auto drawn = [&](Index j) { return seeds[j]; };
    low.push_back(ratio(drawn, -INFINITY));
    high.push_back(ratio(drawn, INFINITY));
  }
  std::ranges::sort(low);
  std::ranges::sort(high);
  return {ratio([](Index i) { return i; }, NAN), low[resamples * 25 / 1000],
          high[resamples * 975 / 1000 - 1]};
}

std::vector<Claim> signal_claims(const Matrix& matrix) {
  std::vector<ByNorm> whole;
  for (const MatrixColumn& column : matrix) {
    ByNorm results;
    for (const char* norm : {"layer_simple", "detach_mean", "detach_variance", "detach"})
      if (const Results* found = column.of(norm)) results[norm] = *found;
    if (results.size() == 4) whole.push_back(results);
  }
  std::vector<Claim> claims;
  if (!whole.empty()) claims = detaching_claims(whole);
  const double lengths = farthest(matrix, "+unit", "length", largest, 1),
               common = farthest(matrix, "+center", "weights", last, 0);
  claims.push_back({"With `unit`, no weight that feeds a norm changes its length.",
                    fmt::format("by {:.1e} at most", lengths), lengths < 1e-5, "below 1e-5"});
  claims.push_back({"With `center`, none of them has a common mode.",
                    fmt::format("rms(c) / rms(V) of {:.1e} at most", common), common < 1e-4,
                    "below 1e-4"});
  return claims;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
