// When does which part of layer normalization matter? A run is forked at some of its steps,
// and each copy goes on for a while with another form.

#include "experiments/fork.h"

#include <fmt/ranges.h>

#include "experiments/float32/subjects.h"
#include "experiments/study.h"
#include "problems/digits.h"
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

ImageSets make_sets(const StudyRun& run) {
  ImageSets sets = problems::image_sets({run.data, run.comparison.seed});
  if (!run.is_report()) sets.validation = first_images(sets.validation, 200);
  return sets;
}

std::vector<Results> train(StudyRun& run, const ForkSizes& sizes) {
  const ImageSets sets = run.from_ledger ? ImageSets() : make_sets(run);
  std::vector<System> systems;
  for (const char* optimizer : optimizers)
    systems.push_back(
        {optimizer, configuration_of(optimizer, sizes), [&, optimizer](const Trial& trial) {
           return train_forks(setting_of(optimizer), rate_of(optimizer), sizes, sets, trial.seed);
         }});
  run.ledger.begin(run.name, run.from_ledger ? "" : sets.digest());
  Progress progress = run.progress(std::ssize(systems));
  return run.train(systems, [&](const Results& trained) {
    progress.line(fmt::format("{}: {} seeds, {:.0f} s", trained.system, trained.runs.size(),
                              progress.seconds()));
  });
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

void report_fork(StudyRun& run) {
  const ForkSizes& sizes = run.is_report() ? report_sizes : smoke_sizes;
  const std::vector<Results> results = train(run, sizes);
  run.report.paragraph(fmt::format(
      "A perceptron with 6 hidden layers of {}, and layer normalization without gain and bias "
      "before each ReLU, is trained with batches of {}. At several steps copies of it continue, "
      "with the same moments of the optimizer and the same batches: {} steps with another form, "
      "then {} steps with layer normalization again. The cost is how much their validation loss "
      "exceeds the loss of the run itself after as many steps.",
      sizes.net.width, sizes.net.batch_size, sizes.detached, sizes.recovery));
  run.report.table(cost_table(results, sizes));
  for (const Results& trained : results)
    for (const When when : {When::at_once, When::later}) figure(run.report, trained, sizes, when);
  for (const Claim& claim : fork_claims(results, {})) run.report.claim(claim);
  for (const JudgedClaim& claim : fork_predictions(results)) run.report.judged(claim);
}

const registry::Entry entry([] {
  return Study{.name = "fork",
               .summary = "Forks runs to find out when layer normalization matters.",
               .title = "When does which part of layer normalization matter?",
               .sizes = "smoke: a small net, in seconds; report: the net of the page, in minutes",
               .seeds = 10,
               .chooses = true,
               .data = digits_flag(),
               .run = report_fork};
});

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
