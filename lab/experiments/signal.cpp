#include "experiments/signal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "experiments/drift_claims.h"
#include "experiments/drift_tasks.h"
#include "tapegrad/core/error.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

struct SignalTask {
  std::string name, title;
  Condition condition;
  double seconds;  // of a run, about
};

std::vector<SignalTask> all_tasks() {
  std::vector<SignalTask> all;
  for (const std::string optimizer : {"adam", "momentum"}) {
    const auto add = [&](const std::string& name, const std::string& title,
                         const Condition& condition, double seconds) {
      all.push_back({fmt::format("{}_{}", name, optimizer), title, condition, seconds});
    };
    const auto transformer = [&](Index layers, const std::string& placement, double seconds) {
      add(fmt::format("{}_{}", placement, layers),
          fmt::format("Transformer, {} layers, {}-norm", layers, placement),
          {"grammar", optimizer, {.placement = placement, .layers = layers}, 300}, seconds);
    };
    transformer(2, "pre", 1);
    transformer(6, "pre", 2);
    transformer(2, "post", 1);
    for (const Index layers : {6, 12})
      add(fmt::format("perceptron_{}", layers), fmt::format("perceptron, {} layers", layers),
          {"mnist", optimizer, {.layers = layers}, 300, 64}, layers == 6 ? 0.3 : 0.4);
    add("conv_net", "ConvNet", {"cnn", optimizer, {}, 5160}, 36);
  }
  return all;
}

std::vector<std::string> all_systems() {
  std::vector<std::string> systems;
  for (const std::string norm : {"layer_simple", "detach_mean", "detach_variance", "detach"}) {
    systems.push_back(norm);
    for (const std::string& constraint : signal_constraints) systems.push_back(norm + constraint);
  }
  for (const std::string norm : {"rms_simple", "rms_detached"})
    for (const char* constraint : {"", "+center"}) systems.push_back(norm + constraint);
  return systems;
}

// A few steps of a small net of the same form.
Condition small(Condition condition) {
  condition.steps = 20;
  condition.images = 16;
  condition.net.layers = condition.net.layers == 2 ? 1 : 2;
  condition.net.channels = 8;
  return condition;
}

Json configuration_of(const Condition& condition) {
  return {{"optimizer", condition.optimizer == "adam" ? "Adam\nwarmup and cosine"
                                                      : "momentum\nwarmup and cosine"},
          {"initial values", condition.is_text() ? "N(0, 0.02)" : "U(+-1/sqrt(inputs))"},
          {"task", condition.task},
          {"placement", condition.net.placement},
          {"axes", condition.net.axes},
          {"layers", condition.net.layers},
          {"channels", condition.net.channels},
          {"steps", condition.steps},
          {"images", condition.images}};
}

// Draws the text and draws or reads the images, whatever the seeds of the runs are.
std::shared_ptr<const DriftData> make_data(const problems::Origin& origin, bool is_report) {
  DriftFlags flags;
  flags.images = origin.directory;
  DriftData data = flags.make_data();
  if (!is_report) {
    data.images->validation = support::first_images(data.images->validation, 100);
    data.images->test = support::first_images(data.images->test, 100);
  }
  return std::make_shared<const DriftData>(std::move(data));
}

// The number to six significant digits.
double rounded(double x) { return std::stod(fmt::format("{:.6g}", x)); }

// What a record of the study needs of a run: no traces where a rate is chosen, else those over the
// whole run, to six digits, since every further digit is a byte in thousands of records.
Outcome shortened(Outcome outcome, bool is_tested) {
  std::swap(outcome.values.at("validation"), outcome.values.at("validation_loss"));
  if (!is_tested) {
    outcome.values.erase("test");
    outcome.traces.clear();
  }
  std::erase_if(outcome.traces, [](const auto& trace) { return trace.second.size() == 1; });
  for (auto& [name, trace] : outcome.traces)
    for (auto& [step, value] : trace) value = rounded(value);
  for (CurvePoint& point : outcome.curve) point.training = rounded(point.training);
  return outcome;
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
  static const Paper paper = [] {
    Paper made{.name = "signal", .tasks = {}, .most_rates = 8, .first_seed = 201, .seeds = 10};
    for (const SignalTask& task : all_tasks()) {
      const bool text = task.condition.is_text();
      made.tasks.push_back(
          {.name = task.name,
           .title = fmt::format("{}, {}", task.title, text ? "bits" : "%"),
           .of_paper = "",
           .unit = text ? "bits per character" : "% errors",
           .loss = text ? "bits" : "nats",
           .metric = text ? Metric{.value = "test"} : Metric{.value = "test", .worst = 100},
           .decimals = text ? 3 : 2,
           .systems = all_systems(),
           .chosen_by_loss = true,
           .choosing_seeds = 2});
    }
    return made;
  }();
  return paper;
}

std::vector<MatrixTask> signal_tasks(const std::vector<std::string>& names,
                                     const problems::Origin& origin, problems::Size size) {
  const bool is_report = size == problems::Size::report;
  const auto data = make_data(origin, is_report);
  std::vector<MatrixTask> tasks;
  for (const std::string& name : names)
    for (const SignalTask& task : all_tasks()) {
      if (task.name != signal_paper().task(name).name) continue;
      const Condition condition = is_report ? task.condition : small(task.condition);
      tasks.push_back({.name = name,
                       .source = condition.is_text() ? "drawn text" : data->images->source,
                       .data = data->digest(),
                       .configuration = configuration_of(condition),
                       .rate = condition.usual_rate(),
                       .steps = condition.steps,
                       .seconds = task.seconds,
                       .train =
                           [data, condition](const TaskTrial& trial) {
                             Index step = 0;
                             const auto seen = [&](double loss) {
                               if (trial.seen) trial.seen(++step, loss);
                             };
                             return shortened(
                                 lab::train(condition, trial.setting.norm, trial.setting.rate,
                                            *data, trial.trial, seen),
                                 trial.tested);
                           },
                       .systems = all_systems()});
    }
  return tasks;
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
  const auto count = static_cast<Index>(of[0].size());
  for (const std::vector<double>& values : of)
    expect<DataError>(std::ssize(values) == count && count > 0, "{}: its runs cannot be paired",
                      a.system);
  // This is the ratio over the seeds that `choose` returns.
  const auto ratio = [&](const auto& choose, double without_lead) {
    double part = 0, whole = 0;
    for (Index i = 0; i < count; ++i) {
      const auto seed = static_cast<std::size_t>(choose(i));
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
    const auto drawn = [&](Index j) { return seeds[static_cast<std::size_t>(j)]; };
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
