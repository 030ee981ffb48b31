// When does which part of layer normalization matter? A run is forked at some of its steps,
// and each copy goes on for a while with another form.

#include "experiments/fork.h"

#include <fmt/ranges.h>

#include "experiments/float32/subjects.h"
#include "experiments/matrix.h"
#include "experiments/registry.h"
#include "experiments/report.h"
#include "problems/digits.h"
#include "support/data_files.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::support;

namespace {

const ForkSizes smoke_sizes{
    .net = {.width = 16, .batch_size = 32}, .points = {0, 2, 4, 8}, .detached = 3, .recovery = 3};
const ForkSizes report_sizes{
    .net = {}, .points = {0, 60, 120, 240, 480, 960}, .detached = 60, .recovery = 240};

constexpr const char* optimizers[] = {"adam", "momentum"};

FormSetting setting_of(const std::string& optimizer) { return {optimizer, "uniform", 6}; }

/// What the experiment forms chose for layer normalization in this setting.
double rate_of(const std::string& optimizer) { return optimizer == "adam" ? 0.001 / 3 : 0.01; }

struct ForkFlags {
  std::string size = "smoke", data;
  ComparisonFlags comparison{.seeds = 10};
  bool from_ledger = false, quiet = false;

  void add_to(Flags& flags) {
    flags
        .setting("--size", size,
                 "smoke: a small net, in seconds; report: the net of the page, in minutes")
        .check(one_of({"smoke", "report"}));
    comparison.add_to(flags, 1);
    flags.input("--data", data, data_help("MNIST", "mnist/") + "; without it, draws digits")
        .environment("TAPEGRAD_MNIST");
    flags.setting("--from-ledger", from_ledger,
                  "Show what --runs has of the size report, and train nothing");
    flags.setting("--quiet", quiet, "No progress on standard error");
  }
  /// Throws FlagError for flags that conflict.
  void check(const Flags& given) const {
    if (from_ledger && !given.given("--runs")) throw FlagError("--from-ledger", "needs --runs");
    const auto& [seeds, seed, threads] = comparison;
    if (seed <= choosing_seed && choosing_seed < seed + static_cast<std::uint64_t>(seeds))
      throw FlagError("--seed",
                      fmt::format("{} is the seed by which rates are chosen", choosing_seed));
  }

  bool is_report() const { return size == "report" || from_ledger; }
  const ForkSizes& sizes() const { return is_report() ? report_sizes : smoke_sizes; }
};

Json configuration_of(const std::string& optimizer, const ForkSizes& sizes) {
  std::vector<std::string> norms;
  for (const ForkArm& arm : fork_arms()) norms.push_back(arm.norm);
  const FormSetting setting = setting_of(optimizer);
  return {{"norms", norms},
          {"optimizer", optimizer},
          {"rate", rate_of(optimizer)},
          {"initial", setting.initial},
          {"layers", setting.layers},
          {"width", sizes.net.width},
          {"batch_size", sizes.net.batch_size},
          {"points", sizes.points},
          {"detached", sizes.detached},
          {"recovery", sizes.recovery}};
}

ImageSets make_sets(const ForkFlags& flags) {
  ImageSets sets = problems::image_sets({flags.data, flags.comparison.seed});
  if (!flags.is_report()) sets.validation = first_images(sets.validation, 200);
  return sets;
}

std::vector<Results> train(const ForkFlags& flags, const ImageSets& sets,
                           const Comparison& comparison) {
  std::vector<System> systems;
  for (const char* optimizer : optimizers)
    systems.push_back(
        {optimizer, configuration_of(optimizer, flags.sizes()), [&, optimizer](const Trial& trial) {
           return train_forks(setting_of(optimizer), rate_of(optimizer), flags.sizes(), sets,
                              trial.seed);
         }});
  Progress progress(std::ssize(systems), 0, flags.quiet || !comparison.is_first());
  return comparison.train(systems, [&](const Results& trained) {
    progress.line(fmt::format("{}: {} seeds, {:.0f} s", trained.system, trained.runs.size(),
                              progress.seconds()));
  });
}

/// Throws DataError if the ledger lacks one of the runs.
std::vector<Results> read(const ForkFlags& flags, const Ledger& ledger) {
  std::vector<Results> results;
  const Records records = ledger.records();
  for (const char* optimizer : optimizers) {
    results.push_back({optimizer});
    for (Index i = 0; i < flags.comparison.seeds; ++i) {
      const std::uint64_t seed = flags.comparison.seed + static_cast<std::uint64_t>(i);
      const auto found = records.find(optimizer);
      expect<DataError>(found != records.end() && found->second.contains(seed),
                        "--from-ledger: --runs has no run of {} with seed {}", optimizer, seed);
      const Record& record = found->second.at(seed);
      expect_same_configuration(record, configuration_of(optimizer, flags.sizes()));
      results.back().runs.push_back(record.outcome);
    }
  }
  return results;
}

const char* title_of(const Results& trained) {
  return trained.system == "adam" ? "Adam" : "momentum";
}

/// At once and, below it, later.
Table cost_table(const std::vector<Results>& results, const ForkSizes& sizes) {
  Table table{fmt::format("Cost in % of the validation loss: after {} steps with another form / "
                          "after {} more with layer normalization",
                          sizes.detached, sizes.recovery),
              {"training"},
              {}};
  for (const Index point : sizes.points) table.columns.push_back(fmt::format("at {}", point));
  for (const Results& trained : results)
    for (const ForkArm& arm : fork_arms()) {
      const bool kept = arm.name == fork_arms().front().name;
      table.rows.push_back(
          {fmt::format("{}, {}", title_of(trained), kept ? "the loss itself, in nats" : arm.name)});
      const auto words = [&](std::size_t point, When when) {
        const Advantage found = advantage(fork_cost, costs_at(trained, "kept", point, when),
                                          costs_at(trained, arm.name, point, when));
        return kept ? fmt::format("{:.3f}", Spread(losses_at(trained, point, when)).mean)
                    : fmt::format("{:+.1f} +- {:.1f}", found.mean, found.half_width);
      };
      for (std::size_t i = 0; i < sizes.points.size(); ++i)
        table.rows.back().push_back(
            fmt::format("{}\n{}", words(i, When::at_once), words(i, When::later)));
    }
  return table;
}

/// Draws the arms that keep values: all but the last.
void figure(Report& report, const Results& trained, const ForkSizes& sizes, When when) {
  const bool now = when == When::at_once;
  Diagram diagram{
      .title = fmt::format("Costs with {}, {}", title_of(trained),
                           now ? fmt::format("after {} steps", sizes.detached)
                               : fmt::format("{} steps later", sizes.recovery)),
      .x_label = fmt::format("fork 0 to {}: after {} steps", sizes.points.size() - 1,
                             fmt::join(sizes.points, ", ")),
      .y_label = "cost, % of the validation loss",
      .series = {},
      .caption = fmt::format("Means over {} seeds; 0 is the run itself.", trained.runs.size())};
  for (const ForkArm& arm : fork_arms()) {
    if (arm.name == fork_arms().back().name) continue;
    Series series{arm.name, {}};
    for (std::size_t i = 0; i < sizes.points.size(); ++i) {
      const Spread spread = costs_at(trained, arm.name, i, when).spread(fork_cost);
      series.points.emplace_back(i, spread.mean);
      if (trained.runs.size() > 1) series.deviations.push_back(spread.deviation);
    }
    diagram.series.push_back(series);
  }
  report.figure(fmt::format("{}_{}", trained.system, now ? "at_once" : "later"), diagram,
                now && trained.system == "adam" ? Talk::yes : Talk::no);
}

int run(const registry::Experiment& self, int argc, char** argv) {
  Flags flags(argv[0], self.summary);
  ForkFlags given;
  Report report;
  Ledger ledger;
  given.add_to(flags);
  report.add_to(flags);
  ledger.add_to(flags);
  return flags.run(argc, argv, [&] {
    given.check(flags);
    set_threads(given.comparison.threads);
    Cluster cluster;
    report.begin(self.name, "When does which part of layer normalization matter?",
                 command_line(argc, argv), cluster.is_first());
    const ForkSizes& sizes = given.sizes();
    std::vector<Results> results;
    if (given.from_ledger) {
      ledger.begin(self.name, "");
      results = read(given, ledger);
    } else {
      const ImageSets sets = make_sets(given);
      ledger.begin(self.name, sets.digest());
      results = train(given, sets, Comparison(cluster, ledger, given.comparison));
    }
    report.paragraph(fmt::format(
        "A perceptron with 6 hidden layers of {}, and layer normalization without gain and bias "
        "before each ReLU, is trained with batches of {}. At several steps copies of it continue, "
        "with the same moments of the optimizer and the same batches: {} steps with another form, "
        "then {} steps with layer normalization again. The cost is how much their validation loss "
        "exceeds the loss of the run itself after as many steps.",
        sizes.net.width, sizes.net.batch_size, sizes.detached, sizes.recovery));
    report.table(cost_table(results, sizes));
    for (const Results& trained : results)
      for (const When when : {When::at_once, When::later}) figure(report, trained, sizes, when);
    for (const Claim& claim : fork_claims(results, {})) report.claim(claim);
    for (const JudgedClaim& claim : fork_predictions(results)) report.judged(claim);
    return report.finish();
  });
}

const registry::Entry entry({"fork", "Forks runs to find out when layer normalization matters.",
                             run, true});

}  // namespace

namespace tapegrad::TAPEGRAD_SCALAR::lab {

void measure_fork(Report& report, const Forks& subject) {
  ImageSets sets = draw_image_sets(1);
  sets.validation = first_images(sets.validation, 100);
  std::vector<Results> results;
  for (const char* optimizer : optimizers)
    results.push_back(
        {optimizer,
         {train_forks(setting_of(optimizer), rate_of(optimizer), smoke_sizes, sets, 1, subject)}});
  for (const Claim& claim : fork_claims(results, subject)) report.claim(claim);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
