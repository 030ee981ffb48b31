// What a detached mean does in a training: the mean of the activations drifts where the loss does
// not see it. Which nets and optimizers drift, at which learning rates it costs, and what ends it.

#include <algorithm>
#include <cmath>
#include <map>

#include "lab/comparison.h"
#include "lab/drift_tasks.h"
#include "lab/registry.h"
#include "lab/report.h"
#include "support/grammar.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::support;

namespace {

const std::vector<std::string> forms{"layer_simple", "detach_mean", "detach_variance", "detach"};
const std::vector<std::string> remedies{"project", "center", "penalty", "clip"};

constexpr const char* none = "none";
const Metric test{.value = "test"};
const Metric validation{.value = "validation"};

/// An optimizer and the middle of the learning rates to try.
struct KnownOptimizer {
  const char* options;
  double text_rate, image_rate;
};
const std::map<std::string, KnownOptimizer> known_optimizers{
    {"sgd", {"sgd", 0.3, 0.1}},           {"momentum", {"momentum", 0.3, 0.03}},
    {"adam", {"adam", 1e-2, 1e-3}},       {"adamw", {"adamw", 1e-2, 1e-3}},
    {"rmsprop", {"rmsprop", 1e-2, 1e-3}}, {"sign", {"lion:beta1=0,beta2=0", 3e-3, 3e-4}},
    {"muon", {"muon", 0.02, 0.02}},
};

/// All that a training depends on but its norm, remedy, learning rate and seed.
struct Condition {
  std::string task, optimizer;
  DriftNet net;
  Index steps;

  bool is_text() const { return task == "grammar" || task == "text"; }
  double usual_rate() const {
    const KnownOptimizer& known = known_optimizers.at(optimizer);
    return is_text() ? known.text_rate : known.image_rate;
  }
  std::string name() const {
    std::string name = task + " " + optimizer;
    if (is_text()) name += fmt::format(" {} {}", net.initial, net.placement);
    if (task == "cnn") return fmt::format("{} {} {}", name, net.axes, steps);
    return fmt::format("{} {}x{} {}", name, net.layers, net.channels * (is_text() ? 1 : 4), steps);
  }
};

/// A condition with a norm, a remedy and a learning rate.
struct Setting {
  Condition condition;
  std::string norm, remedy;
  double factor;  ///< of the usual learning rate

  double rate() const { return factor * condition.usual_rate(); }
  /// Also its folder in the ledger.
  std::string name() const {
    std::string name = fmt::format("{} {} {} {:.3g}", condition.name(), norm, remedy, rate());
    std::replace(name.begin(), name.end(), ' ', '_');
    return name;
  }
};

struct DriftFlags {
  std::vector<std::string> tasks{"grammar", "mnist", "cnn"};
  std::vector<std::string> optimizers{"adamw", "adam", "sign", "momentum", "sgd"};
  std::vector<std::string> initials{"library", "paper"};
  std::vector<std::string> placements{"pre", "post"};
  std::vector<std::string> axes{"image", "channels"};
  std::vector<Index> layers{2, 6};
  std::vector<Index> channels{32, 128};
  std::vector<Index> steps{300, 1200};
  std::vector<double> factors{1.0 / 3, 1, 3};
  ComparisonFlags comparison{.seeds = 5};
  std::string text, images;
  bool quiet = false;

  void add_to(Flags& flags) {
    const auto names = [](const char* first, const char* second) {
      return CLI::IsMember({first, second});
    };
    std::vector<std::string> known;
    for (const auto& [name, unused] : known_optimizers) known.push_back(name);
    flags.setting("--tasks", tasks, "What nets learn: grammar, text (with --text), mnist, cnn")
        ->check(CLI::IsMember({"grammar", "text", "mnist", "cnn"}));
    flags.setting("--optimizers", optimizers, "Optimizers; sign: steps of equal size")
        ->check(CLI::IsMember(known));
    flags
        .setting("--initials", initials,
                 "Initial weights of Transformers: the library's, N(0, "
                 "0.02), or those of the paper's code, U(+-1/sqrt(inputs))")
        ->check(names("library", "paper"));
    flags.setting("--placements", placements, "Norms of Transformers")->check(names("pre", "post"));
    flags.setting("--axes", axes, "What norms of the cnn take statistics over")
        ->check(names("image", "channels"));
    flags.setting("--layers", layers, "Layers of Transformers and perceptrons")
        ->check(between(1, 100));
    flags
        .setting("--channels", channels,
                 "Channels of Transformers, a multiple of 4; perceptrons "
                 "have four times as many")
        ->check(between(4, 4096));
    flags.setting("--steps", steps, "Steps, in multiples of 20")->check(between(20, 1 << 20));
    flags.setting("--lr-factors", factors, "Learning rates to try, as parts of the usual one")
        ->check(positive());
    comparison.add_to(flags, 1);
    flags.setting("--text", text, "Text file for the task text")->check(file_name());
    flags.setting("--data", images, "Directory of MNIST's four files; without it, draws digits")
        ->envname("TAPEGRAD_MNIST")
        ->check(file_name());
    flags.setting("--quiet", quiet, "No progress on standard error");
  }

  /// Throws CLI::ValidationError for values that do not fit.
  void check() const {
    const auto refuse_unless = [](bool fits, const char* flag, const std::string& what) {
      if (!fits) throw CLI::ValidationError(flag, what);
    };
    for (const Index count : steps)
      refuse_unless(count % DriftOptions{}.measures == 0, "--steps",
                    fmt::format("{} is not a multiple of {}", count, DriftOptions{}.measures));
    for (const Index count : channels)
      refuse_unless(count % 4 == 0, "--channels", fmt::format("{} is not a multiple of 4", count));
    const bool reads = std::find(tasks.begin(), tasks.end(), "text") != tasks.end();
    refuse_unless(reads == !text.empty(), "--text", "goes with the task text");
  }

  /// The first values of all lists.
  Condition base() const {
    return {tasks.front(),
            optimizers.front(),
            {.initial = initials.front(),
             .placement = placements.front(),
             .axes = axes.front(),
             .layers = layers.front(),
             .channels = channels.front()},
            steps.front()};
  }

  /// The base, then conditions that differ from it in one thing. On another task, what is varied
  /// is the optimizer and, for a cnn, the axes.
  std::vector<Condition> conditions() const {
    std::vector<Condition> all{base()};
    const auto vary = [&](const Condition& from, const auto& values, const auto& set) {
      for (std::size_t i = 1; i < values.size(); ++i) {
        all.push_back(from);
        set(all.back(), values[i]);
      }
    };
    const auto set_optimizer = [](Condition& c, const std::string& v) { c.optimizer = v; };
    vary(base(), optimizers, set_optimizer);
    vary(base(), layers, [](Condition& c, Index v) { c.net.layers = v; });
    vary(base(), channels, [](Condition& c, Index v) { c.net.channels = v; });
    vary(base(), steps, [](Condition& c, Index v) { c.steps = v; });
    if (base().is_text()) {
      vary(base(), initials, [](Condition& c, const std::string& v) { c.net.initial = v; });
      vary(base(), placements, [](Condition& c, const std::string& v) { c.net.placement = v; });
    }
    for (std::size_t i = 1; i < tasks.size(); ++i) {
      Condition other = base();
      other.task = tasks[i];
      all.push_back(other);
      vary(other, optimizers, set_optimizer);
      if (other.task == "cnn")
        vary(other, axes, [](Condition& c, const std::string& v) { c.net.axes = v; });
    }
    return all;
  }
};

struct Data {
  std::optional<CharText> grammar, text;
  ImageSets images;

  Data(const DriftFlags& flags) {
    Random random = Random(flags.comparison.seed).stream(7);
    grammar.emplace(grammar_text(8000, random));
    if (!flags.text.empty()) text.emplace(read_text(flags.text));
    images = flags.images.empty() ? draw_image_sets(flags.comparison.seed)
                                  : read_image_sets(flags.images);
  }
  std::string digest() const {
    return grammar->digest() + (text ? text->digest() : "") + images.digest() +
           images.test_digest();
  }
};

/// Trains all settings. The bar counts their steps.
class Laboratory {
 public:
  Laboratory(const DriftFlags& flags, const Data& data) : flags_(flags), data_(data) {
    for (const Condition& condition : flags.conditions())
      for (const double factor : flags.factors)
        for (const std::string& form : forms) settings_.push_back({condition, form, none, factor});
    for (const double factor : flags.factors) {
      settings_.push_back({flags.base(), "layer_simple", "project", factor});
      for (const std::string& remedy : remedies)
        settings_.push_back({flags.base(), "detach_mean", remedy, factor});
    }
  }

  void train(const Comparison& comparison) {
    Index steps = 0;
    for (const Setting& setting : settings_) steps += setting.condition.steps;
    Progress progress(steps * flags_.comparison.seeds, 0, flags_.quiet || !comparison.is_first());
    Index done = 0;
    std::vector<System> systems;
    for (const Setting& setting : settings_)
      systems.push_back({.name = setting.name(),
                         .configuration = {{"form", setting.norm}, {"remedy", setting.remedy}},
                         .train = [&](const Trial& trial) {
                           return train(setting, trial,
                                        [&](double loss) { progress.step(++done, loss); });
                         }});
    for (Results& results : comparison.train(systems)) found_[results.system] = results;
  }

  const Results& of(const Setting& setting) const { return found_.at(setting.name()); }
  /// With the learning rate whose validation is the best.
  const Setting best(const Condition& condition, const std::string& norm) const {
    std::vector<Setting> all;
    for (const double factor : flags_.factors) all.push_back({condition, norm, none, factor});
    return *std::min_element(all.begin(), all.end(), [&](const Setting& a, const Setting& b) {
      return of(a).spread(validation).mean < of(b).spread(validation).mean;
    });
  }

 private:
  Outcome train(const Setting& setting, const Trial& trial,
                const std::function<void(double loss)>& seen) const {
    const Condition& condition = setting.condition;
    DriftNet net = condition.net;
    net.norm = setting.norm;
    const LearningTask task =
        condition.is_text()
            ? transformer_task(condition.task == "text" ? *data_.text : *data_.grammar, net, trial)
        : condition.task == "mnist" ? perceptron_task(data_.images, net, trial)
                                    : conv_net_task(data_.images, net, trial);
    return train_watched(
        task,
        {.optimizer = {.optimizer = known_optimizers.at(condition.optimizer).options,
                       .learning_rate = setting.rate(),
                       .warmup = condition.steps / 20,
                       .beta2 = 0.99,
                       .weight_decay = condition.optimizer == "adamw" ? 0.1 : 0},
         .steps = condition.steps,
         .remedy = remedy_of(setting.remedy)},
        seen);
  }

  const DriftFlags& flags_;
  const Data& data_;
  std::vector<Setting> settings_;
  std::map<std::string, Results> found_;
};

using Trace = std::vector<std::pair<Index, double>>;

/// The mean over seeds of a number that each training's trace gives.
double over_seeds(const Results& results, const char* trace,
                  const std::function<double(const Trace&)>& number) {
  std::vector<double> values;
  for (const Outcome& training : results.trainings)
    values.push_back(number(training.traces.at(trace)));
  return Spread(values).mean;
}

double largest(const Trace& trace) {
  double value = 0;
  for (const auto& [step, y] : trace) value = std::max(value, y);
  return value;
}

double average(const Trace& trace) {
  double sum = 0;
  for (const auto& [step, y] : trace) sum += y;
  return sum / static_cast<double>(trace.size());
}

std::string loss(const Results& results) {
  const Spread spread = results.spread(test);
  return std::isfinite(spread.mean) ? spread.to_string() : "diverges";
}

Table best_table(const Laboratory& laboratory, const DriftFlags& flags) {
  Table table{
      "Loss or error on held-out data, each form at its best learning rate", {"training"}, {}};
  for (const std::string& form : forms) table.columns.push_back(form);
  for (const Condition& condition : flags.conditions()) {
    table.rows.push_back({condition.name()});
    for (const std::string& form : forms) {
      const Setting best = laboratory.best(condition, form);
      table.rows.back().push_back(
          fmt::format("{} at {:.2g}", loss(laboratory.of(best)), best.rate()));
    }
  }
  return table;
}

/// A line for each condition and learning rate: what a detached mean costs, and what drifts.
Table cost_table(const Laboratory& laboratory, const DriftFlags& flags) {
  Table table{
      "What a detached mean costs at each learning rate, and what drifts",
      {"training", "rate", "layer_simple", "cost of detach_mean", "largest |mu| / s attached",
       "and detached", "cosine with the attached gradient", "size beside it"},
      {}};
  for (const Condition& condition : flags.conditions())
    for (const double factor : flags.factors) {
      const Setting attached{condition, "layer_simple", none, factor};
      const Setting detached{condition, "detach_mean", none, factor};
      const Results &a = laboratory.of(attached), &d = laboratory.of(detached);
      table.rows.push_back({condition.name(), fmt::format("{:.2g}", attached.rate()), loss(a),
                            better(test, a, d).reason,
                            fmt::format("{:.2f}", over_seeds(a, "ratio", largest)),
                            fmt::format("{:.2f}", over_seeds(d, "ratio", largest)),
                            fmt::format("{:.3f}", over_seeds(d, "cosine", average)),
                            fmt::format("{:.2f}", over_seeds(d, "size", average))});
    }
  return table;
}

Table remedy_table(const Laboratory& laboratory, const DriftFlags& flags) {
  Table table{"What ends the drift: losses of " + flags.base().name(), {"form", "remedy"}, {}};
  for (const double factor : flags.factors)
    table.columns.push_back(fmt::format("rate {:.2g}", factor * flags.base().usual_rate()));
  const auto add = [&](const std::string& form, const std::string& remedy) {
    table.rows.push_back({form, remedy});
    for (const double factor : flags.factors)
      table.rows.back().push_back(loss(laboratory.of({flags.base(), form, remedy, factor})));
  };
  for (const std::string& form : forms) add(form, none);
  add("layer_simple", "project");
  for (const std::string& remedy : remedies) add("detach_mean", remedy);
  return table;
}

/// A trace of the base, at the least of the learning rates: a mean over seeds, with deviations.
Series mean_trace(const std::string& name, const Results& results, const std::string& trace) {
  Series series{name, {}};
  for (std::size_t i = 0; i < results.trainings.front().traces.at(trace).size(); ++i) {
    std::vector<double> values;
    for (const Outcome& training : results.trainings)
      values.push_back(training.traces.at(trace).at(i).second);
    const Spread spread(values);
    series.points.emplace_back(results.trainings.front().traces.at(trace)[i].first, spread.mean);
    if (values.size() > 1) series.deviations.push_back(spread.deviation);
  }
  return series;
}

void figures(Report& report, const Laboratory& laboratory, const DriftFlags& flags) {
  const double factor = *std::min_element(flags.factors.begin(), flags.factors.end());
  const auto diagram = [&](const std::string& title, const std::string& label,
                           const std::string& trace, const std::string& caption) {
    Diagram drawn{title, "step", label, {}, true, caption};
    const auto add = [&](const std::string& name, const std::string& form,
                         const std::string& remedy) {
      drawn.series.push_back(
          mean_trace(name, laboratory.of({flags.base(), form, remedy, factor}), trace));
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
  report.figure("size", diagram("The gradient's size", "beside the attached gradient", "size",
                                "What the detached mean adds to the gradient."));
  Diagram losses{
      "Training loss",
      "step",
      "nats",
      {},
      false,
      "All forms compute the same values from the same weights; their gradients differ."};
  for (const std::string& form : forms) {
    losses.series.push_back(
        thinned(mean_training_curve(laboratory.of({flags.base(), form, none, factor}))));
    losses.series.back().name = form;
  }
  report.figure("loss", losses);
}

/// What must hold for all sizes.
void claims(Report& report, const Laboratory& laboratory, const DriftFlags& flags) {
  double forward = 0, projected = 0, cosine = 1;
  for (const double factor : flags.factors) {
    const auto of = [&](const char* form, const char* remedy) -> const Results& {
      return laboratory.of({flags.base(), form, remedy, factor});
    };
    const Results &attached = of("layer_simple", none), &same = of("layer_simple", "project"),
                  &centered = of("detach_mean", "center");
    for (std::size_t seed = 0; seed < attached.trainings.size(); ++seed) {
      const double first = attached.trainings[seed].curve[0].training;
      for (const std::string& form : forms)
        forward = std::max(
            forward, std::abs(of(form.c_str(), none).trainings[seed].curve[0].training - first));
      projected = std::max(projected, std::abs(same.trainings[seed].values.at("test") -
                                               attached.trainings[seed].values.at("test")));
      const Trace& trace = centered.trainings[seed].traces.at("cosine");
      for (auto point = trace.begin() + 1; point != trace.end(); ++point)
        cosine = std::min(cosine, point->second);
    }
  }
  report.claim("All forms compute the same values: their first losses are equal.",
               fmt::format("{:.1e} nats apart", forward), forward < 1e-5, "below 1e-5 nats");
  report.claim(
      "With the mean attached, gradients have no common mode: taking it out changes no training.",
      fmt::format("losses at most {:.1e} apart", projected), projected < 0.02, "below 0.02");
  report.claim("With centered weights, the gradient that a detached mean gives is the true one.",
               fmt::format("cosine at least {:.5f}", cosine), cosine > 0.99, "above 0.99");
}

void verdicts(Report& report, const Laboratory& laboratory, const DriftFlags& flags) {
  for (const Condition& condition : flags.conditions()) {
    const Setting mean = laboratory.best(condition, "detach_mean");
    const Setting scale = laboratory.best(condition, "detach_variance");
    const Judgement judgement = better(test, laboratory.of(mean), laboratory.of(scale));
    report.published(
        fmt::format(
            "{}: detaching the mean costs less than detaching the scale (Xu et al. 2019, table 3).",
            condition.name()),
        judgement.reason, judgement);
  }
}

int run(const registry::Experiment& self, int argc, char** argv) {
  Flags flags(argv[0], self.summary);
  DriftFlags drift;
  Report report;
  Ledger ledger;
  drift.add_to(flags);
  report.add_to(flags);
  ledger.add_to(flags);
  return flags.run(argc, argv, [&] {
    drift.check();
    set_threads(drift.comparison.threads);
    Cluster cluster;
    report.begin(self.name, "What drifts where the mean is detached", command_line(argc, argv),
                 cluster.is_first());
    const Data data(drift);
    ledger.begin(self.name, data.digest());
    Laboratory laboratory(drift, data);
    laboratory.train(Comparison(cluster, ledger, drift.comparison));
    report.table(best_table(laboratory, drift));
    report.table(cost_table(laboratory, drift));
    report.table(remedy_table(laboratory, drift));
    figures(report, laboratory, drift);
    claims(report, laboratory, drift);
    verdicts(report, laboratory, drift);
    return report.finish();
  });
}

const registry::Entry entry({"drift",
                             "Shows what drifts where the mean is detached, at what cost, and what "
                             "ends it.",
                             run, true});

}  // namespace
