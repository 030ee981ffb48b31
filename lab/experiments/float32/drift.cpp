// What a detached mean does in a run: the mean of the activations drifts where the loss does
// not see it. Which nets and optimizers drift, at which learning rates it costs, and what ends it.

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "experiments/drift_claims.h"
#include "experiments/drift_tasks.h"
#include "experiments/study.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;

namespace {

const std::vector<std::string> forms{"layer_simple", "detach_mean", "detach_variance", "detach"};
const std::vector<std::string> remedies{"project", "center", "penalty", "clip"};

constexpr const char* none = "none";
const Metric validation{.value = "validation"};

struct DriftFlags : ConditionLists {
  std::vector<double> factors{1.0 / 3, 1, 3};  ///< of the usual learning rate
  std::string text;

  void add_to(Flags& flags, StudyRun&) {
    flags.setting("--tasks", tasks, "What nets learn: grammar, text (with --text), mnist, cnn")
        .check(one_of({"grammar", "text", "mnist", "cnn"}));
    flags.setting("--optimizers", optimizers, "Optimizers; sign: steps of equal size")
        .check(one_of(drift_optimizers()));
    flags
        .setting("--initials", initials,
                 "Initial weights of Transformers: the library's, N(0, 0.02), or, as in the "
                 "paper's code, U(+-1/sqrt(inputs))")
        .check(one_of({"library", "paper"}));
    flags.setting("--placements", placements, "Norms of Transformers")
        .check(one_of({"pre", "post"}));
    flags.setting("--axes", axes, "What norms of the cnn take statistics over")
        .check(one_of({"image", "channels"}));
    flags.setting("--layers", layers, "Layers of Transformers and perceptrons")
        .check(between(1, 100));
    flags
        .setting("--channels", channels,
                 "Channels of Transformers, a multiple of 4; perceptrons "
                 "have four times as many")
        .check(between(4, 4096));
    flags.setting("--steps", steps, "Steps, in multiples of 20").check(between(20, 1 << 20));
    flags.setting("--lr-factors", factors, "Learning rates to try, as parts of the usual one")
        .check(positive());
    flags.input("--text", text, "Text file for the task text");
    flags.checks([this] { check(); });
  }

  bool learns(const std::string& task) const { return std::ranges::count(tasks, task) > 0; }

 private:
  /// Throws FlagError for values that do not fit.
  void check() const {
    const auto refuse_unless = [](bool fits, const char* flag, const std::string& what) {
      if (!fits) throw FlagError(flag, what);
    };
    for (const Index count : steps)
      refuse_unless(count % DriftOptions{}.measures == 0, "--steps",
                    fmt::format("{} is not a multiple of {}", count, DriftOptions{}.measures));
    for (const Index count : channels)
      refuse_unless(count % 4 == 0, "--channels", fmt::format("{} is not a multiple of 4", count));
    refuse_unless(learns("text") == !text.empty(), "--text", "goes with the task text");
  }
};

/// A condition with a norm, a remedy and a learning rate.
struct Setting {
  Condition condition;
  std::string norm, remedy;
  double factor;  ///< of the usual learning rate

  double rate() const { return factor * condition.usual_rate(); }
  /// Also in the ledger.
  std::string name() const {
    std::string name = fmt::format("{} {} {} {:.3g}", condition.name(), norm, remedy, rate());
    std::replace(name.begin(), name.end(), ' ', '_');
    return name;
  }
};

std::string loss(const Results& results) {
  const Spread found = results.spread(held_out);
  return std::isfinite(found.mean) ? found.to_string() : "diverges";
}

/// The runs of all settings. The bar counts their steps, in order.
class DriftRuns {
 public:
  explicit DriftRuns(const DriftFlags& flags) : flags_(flags) {
    for (const Condition& condition : flags.conditions())
      for (const double factor : flags.factors)
        for (const std::string& form : forms) settings_.push_back({condition, form, none, factor});
    for (const double factor : flags.factors) {
      settings_.push_back({flags.base(), "layer_simple", "project", factor});
      for (const std::string& remedy : remedies)
        settings_.push_back({flags.base(), "detach_mean", remedy, factor});
    }
  }

  /// Trains them, or takes what the ledger has of them.
  void train(const StudyRun& run, const std::optional<DriftData>& data) {
    const Index seeds = run.comparison.seeds;
    Index steps = 0;
    for (const Setting& setting : settings_) steps += seeds * setting.condition.steps;
    Progress progress = run.progress(steps);
    std::vector<System> systems;
    Index before = 0;  // steps of the settings before
    for (const Setting& setting : settings_) {
      systems.push_back({.name = setting.name(),
                         .configuration = {{"form", setting.norm}, {"remedy", setting.remedy}},
                         .train = [&, before](const Trial& trial) {
                           Index done = before + trial.number % seeds * setting.condition.steps;
                           const auto make = [&](const std::string& system, const Trial& of) {
                             const NormSpec norm = norm_and_constraints(system).norm;
                             return make_task(setting.condition, norm, *data, of);
                           };
                           return lab::train(make, setting.condition.optimizer,
                                             setting.norm + "+" + setting.remedy, setting.rate(),
                                             trial,
                                             [&](double loss) { progress.step(++done, loss); });
                         }});
      before += seeds * setting.condition.steps;
    }
    for (const Results& trained : run.train(systems, [&](const Results& found) {
           progress.line(
               fmt::format("{}: {}, {:.0f} s", found.system, loss(found), progress.seconds()));
         }))
      found_[trained.system] = trained;
  }

  const Results& of(const Setting& setting) const { return found_.at(setting.name()); }
  /// With the learning rate whose validation is the best.
  Setting best(const Condition& condition, const std::string& norm) const {
    std::vector<Setting> all;
    for (const double factor : flags_.factors) all.push_back({condition, norm, none, factor});
    return *std::min_element(all.begin(), all.end(), [&](const Setting& a, const Setting& b) {
      return of(a).spread(validation).mean < of(b).spread(validation).mean;
    });
  }

 private:
  const DriftFlags& flags_;
  std::vector<Setting> settings_;
  std::map<std::string, Results> found_;
};

/// The mean over seeds of a number that each run's trace gives.
double over_seeds(const Results& results, const char* trace,
                  const std::function<double(const lab::RunTrace&)>& number) {
  std::vector<double> values;
  for (const Outcome& run : results.runs) values.push_back(number(trace_of(run, trace)));
  return Spread(values).mean;
}

bool diverges(const Results& results) { return !std::isfinite(results.spread(held_out).mean); }

Table best_table(const DriftRuns& runs, const DriftFlags& flags) {
  Table table{
      "Loss or error on held-out data, each form at its best learning rate", {"training"}, {}};
  for (const std::string& form : forms) table.columns.push_back(form);
  for (const Condition& condition : flags.conditions()) {
    table.rows.push_back({condition.name()});
    for (const std::string& form : forms) {
      const Setting best = runs.best(condition, form);
      table.rows.back().push_back(fmt::format("{} at {:.2g}", loss(runs.of(best)), best.rate()));
    }
  }
  return table;
}

/// A line for each condition and learning rate: what a detached mean costs, and what drifts.
Table cost_table(const DriftRuns& runs, const DriftFlags& flags) {
  Table table{"What a detached mean costs at each learning rate, and what drifts",
              {"training", "rate", "layer_simple", "cost of detach_mean", "largest |mu|/s attached",
               "and detached", "largest rms(c)/rms(V)", "cosine with the attached gradient",
               "size beside it"},
              {}};
  for (const Condition& condition : flags.conditions())
    for (const double factor : flags.factors) {
      const Setting attached{condition, "layer_simple", none, factor};
      const Setting detached{condition, "detach_mean", none, factor};
      const Results &a = runs.of(attached), &d = runs.of(detached);
      table.rows.push_back({condition.name(), fmt::format("{:.2g}", attached.rate()), loss(a),
                            diverges(a) ? "" : better(held_out, a, d).reason,
                            fmt::format("{:.2f}", over_seeds(a, "ratio", largest)),
                            fmt::format("{:.2f}", over_seeds(d, "ratio", largest)),
                            fmt::format("{:.2f}", over_seeds(d, "weights", largest)),
                            fmt::format("{:.3f}", over_seeds(d, "cosine", average)),
                            fmt::format("{:.2f}", over_seeds(d, "size", average))});
    }
  return table;
}

Table remedy_table(const DriftRuns& runs, const DriftFlags& flags) {
  Table table{"What stops the drift: losses of " + flags.base().name(), {"form", "remedy"}, {}};
  for (const double factor : flags.factors)
    table.columns.push_back(fmt::format("rate {:.2g}", factor * flags.base().usual_rate()));
  const auto add = [&](const std::string& form, const std::string& remedy) {
    table.rows.push_back({form, remedy});
    for (const double factor : flags.factors)
      table.rows.back().push_back(loss(runs.of({flags.base(), form, remedy, factor})));
  };
  for (const std::string& form : forms) add(form, none);
  add("layer_simple", "project");
  for (const std::string& remedy : remedies) add("detach_mean", remedy);
  return table;
}

/// Draws curves of the base, at the least of the learning rates.
void figures(Report& report, const DriftRuns& runs, const DriftFlags& flags) {
  const double factor = *std::min_element(flags.factors.begin(), flags.factors.end());
  const auto diagram = [&](const std::string& title, const std::string& label,
                           const std::string& trace, const std::string& caption) {
    Diagram drawn{title, "step", label, {}, true, caption};
    const auto add = [&](const std::string& name, const std::string& form,
                         const std::string& remedy) {
      drawn.series.push_back(mean_trace(runs.of({flags.base(), form, remedy, factor}), trace));
      drawn.series.back().name = name;
    };
    for (const std::string& form : forms) add(form, form, none);
    add("detach_mean, projected", "detach_mean", "project");
    return drawn;
  };
  report.figure("ratio",
                diagram("The mean of the activations drifts", "|mu| / s at the worst norm", "ratio",
                        "Without its gradient the mean runs away from the deviation; with "
                        "projected gradients it stays."),
                Talk::yes);
  report.figure("deviation", diagram("The scale of the activations", "s at the last norm",
                                     "deviation", "A detached scale grows."));
  Diagram losses{
      "Training loss",
      "step",
      "nats",
      {},
      false,
      "All forms compute the same values from the same weights; their gradients differ."};
  for (const std::string& form : forms) {
    losses.series.push_back(mean_training_curve(runs.of({flags.base(), form, none, factor})));
    losses.series.back().name = form;
  }
  report.figure("loss", losses);
}

/// The last values of a trace of each norm: the means over seeds, with deviations.
Series over_norms(const Results& results, const std::string& trace, double (*shown)(double)) {
  Series series{"", {}};
  for (std::size_t norm = 0; results.runs[0].traces.contains(of_norm(trace, norm)); ++norm) {
    std::vector<double> values;
    for (const Outcome& run : results.runs)
      values.push_back(shown(trace_of(run, of_norm(trace, norm)).back().second));
    const Spread spread(values);
    series.points.emplace_back(norm + 1, spread.mean);
    if (values.size() > 1) series.deviations.push_back(spread.deviation);
  }
  return series;
}

/// Draws the norms of the base, at the least of the learning rates, when the run ends.
void figures_of_norms(Report& report, const DriftRuns& runs, const DriftFlags& flags) {
  const double factor = *std::min_element(flags.factors.begin(), flags.factors.end());
  const auto figure = [&](const std::string& title, const std::string& label,
                          const std::string& trace, double (*shown)(double),
                          const std::string& caption) {
    Diagram diagram{title, "norm, from the input on", label, {}, false, caption};
    for (const std::string& form : forms) {
      diagram.series.push_back(
          over_norms(runs.of({flags.base(), form, none, factor}), trace, shown));
      diagram.series.back().name = form;
    }
    report.figure("norms_" + trace, diagram);
  };
  const auto same = [](double value) { return value; };
  figure("Which norms drift", "log10 of |mu| / s at the end", "ratio", std::log10,
         "Above 0 the mean is larger than the deviation.");
  figure("What the norms divide by", "log10 of s at the end", "deviation", std::log10,
         "A detached scale grows.");
  figure("How well the gradient agrees with the attached one at each norm",
         "cosine with the attached one", "cosine", same,
         "Gradients pass from the last norm, on the right, to the first; each detached norm on the "
         "way rotates them.");
  figure("How large the gradient is at each norm", "log10 of its variance", "variance", std::log10,
         "Of the gradient with respect to a norm's input, over all rows and features.");
}

/// What must hold for all sizes.
void claims(Report& report, const DriftRuns& runs, const DriftFlags& flags) {
  std::vector<ByNorm> settings;
  for (const double factor : flags.factors) {
    settings.emplace_back();
    for (const std::string& form : forms)
      settings.back()[form] = runs.of({flags.base(), form, none, factor});
  }
  for (const Claim& claim : detaching_claims(settings)) report.claim(claim);
  report.claim(common_mode_claim(settings));
}

/// How often a detached mean costs something, where the largest |mu| / s is below 1 and elsewhere.
void report_cost_by_ratio(Report& report, const DriftRuns& runs, const DriftFlags& flags) {
  Table table{"Runs in which a detached mean costs more than its interval over seeds",
              {"largest |mu|/s", "runs", "it costs", "it gains", "neither"},
              {{"below 1"}, {"1 and above"}}};
  int counts[2][3] = {};
  for (const Condition& condition : flags.conditions())
    for (const double factor : flags.factors) {
      const Results& attached = runs.of({condition, "layer_simple", none, factor});
      const Results& detached = runs.of({condition, "detach_mean", none, factor});
      if (diverges(attached)) continue;
      const auto verdict = better(held_out, attached, detached).verdict;
      const bool drifts = over_seeds(detached, "ratio", largest) >= 1;
      ++counts[drifts][verdict == Verdict::supported      ? 0
                       : verdict == Verdict::contradicted ? 1
                                                          : 2];
    }
  for (const std::size_t drifts : {0, 1}) {
    const auto& row = counts[drifts];
    for (const int count : {row[0] + row[1] + row[2], row[0], row[1], row[2]})
      table.rows[drifts].push_back(fmt::format("{}", count));
  }
  report.table(table);
}

DriftCost drift_cost(const Results& attached, const Results& detached) {
  const auto mean = [&](const char* trace, double (*number)(const lab::RunTrace&)) {
    return over_seeds(detached, trace, number);
  };
  return {
      .cost = 100 * advantage(held_out, attached, detached).mean / attached.spread(held_out).mean,
      .ratio = mean("ratio", largest),
      .weights = mean("weights", largest),
      .first_ratio = mean("ratio", largest_of_first_tenth),
      .first_weights = mean("weights", largest_of_first_tenth)};
}

/// What predicts the cost of a detached mean: |mu| / s, or the common mode of weights.
void predictors(Report& report, const DriftRuns& runs, const DriftFlags& flags) {
  std::map<std::string, std::vector<DriftCost>> by_task;
  for (const Condition& condition : flags.conditions())
    for (const double factor : flags.factors) {
      const Results& attached = runs.of({condition, "layer_simple", none, factor});
      const Results& detached = runs.of({condition, "detach_mean", none, factor});
      if (!diverges(attached) && !diverges(detached))
        by_task[condition.task].push_back(drift_cost(attached, detached));
    }
  std::erase_if(by_task, [](const auto& task) { return task.second.size() < 3; });
  if (by_task.empty()) return;
  Table table{"Rank correlation of the cost of a detached mean with what drifts",
              {"task", "settings", "|mu|/s", "rms(c)/rms(V)", "|mu|/s, first tenth",
               "rms(c)/rms(V), first tenth"},
              {}};
  for (const auto& [task, settings] : by_task) {
    table.rows.push_back({task, fmt::format("{}", settings.size())});
    for (const auto predictor : {&DriftCost::ratio, &DriftCost::weights, &DriftCost::first_ratio,
                                 &DriftCost::first_weights})
      table.rows.back().push_back(fmt::format("{:.2f}", correlation(settings, predictor)));
  }
  report.table(table);
  for (const bool of_weights : {false, true}) {
    const char* name = of_weights ? "rms(c) / rms(V)" : "|mu| / s";
    Diagram diagram{fmt::format("The cost against {} in the first tenth of the steps", name),
                    fmt::format("largest {} in the first tenth of the steps", name),
                    "cost, % of the loss",
                    {},
                    true,
                    "Each mark is a setting, the mean over its seeds. Where a detached mean costs "
                    "nothing or gains, there is no mark."};
    for (const auto& [task, settings] : by_task) {
      diagram.series.push_back({task, {}});
      for (const DriftCost& each : settings)
        diagram.series.back().points.emplace_back(
            of_weights ? each.first_weights : each.first_ratio, each.cost);
      std::ranges::sort(diagram.series.back().points);
    }
    report.figure(of_weights ? "early_weights" : "early_ratio", diagram);
  }
  for (const JudgedClaim& claim : predictor_claims(by_task)) report.judged(claim);
}

void verdicts(Report& report, const DriftRuns& runs, const DriftFlags& flags) {
  for (const Condition& condition : flags.conditions())
    report.judged(cheaper_mean_claim(condition.name(), runs.of(runs.best(condition, "detach_mean")),
                                     runs.of(runs.best(condition, "detach_variance"))));
}

void introduce(StudyRun& run, const DriftFlags& flags) {
  run.report.paragraph(fmt::format(
      "Nets are trained with four forms of layer normalization that compute the same values and "
      "differ in their gradients. One condition is the base, the others differ from it in one "
      "thing: task, optimizer, initial values of the Transformer, placement of its norms, layers x "
      "channels, steps. Each is trained with {} learning rates and {} seeds. Systems with one seed "
      "begin with the same weights and see the same batches. Losses are bits per character of "
      "held-out text, or test errors in %. The text of the task grammar is drawn by this "
      "program{}. The best learning rate has the lowest loss on other held-out data; a higher one "
      "may be better still.",
      flags.factors.size(), run.comparison.seeds,
      (flags.learns("mnist") || flags.learns("cnn")) && run.data.empty() ? ", and so are the digits"
                                                                         : ""));
  run.report.paragraph(
      "A detached mean adds a common mode to the gradient of every weight that feeds a norm: the "
      "same number for all outputs. The loss does not depend on it, so nothing opposes it, and the "
      "mean of the activations drifts.");
}

void report_drift(StudyRun& run, const DriftFlags& flags) {
  DriftRuns runs(flags);
  std::optional<DriftData> data;
  if (!run.from_ledger)
    data = make_drift_data(flags.tasks, flags.text, run.data, run.comparison.seed);
  run.ledger.begin(run.name, data ? data->digest() : "");
  runs.train(run, data);
  introduce(run, flags);
  Report& report = run.report;
  report.table(best_table(runs, flags));
  report.table(cost_table(runs, flags));
  report_cost_by_ratio(report, runs, flags);
  predictors(report, runs, flags);
  report.table(remedy_table(runs, flags));
  figures(report, runs, flags);
  figures_of_norms(report, runs, flags);
  claims(report, runs, flags);
  verdicts(report, runs, flags);
}

const registry::Entry entry([] {
  return with_flags<DriftFlags>(
      {.name = "drift",
       .summary = "Shows what drifts where the mean is detached, at what cost, and what ends it.",
       .title = "What drifts where the mean is detached",
       .seeds = 5,
       .data = digits_flag()},
      report_drift);
});

}  // namespace
