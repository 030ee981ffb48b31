// Batch, layer and divisive normalization as one family (Ren et al. 2017): plain, with a smoothing
// term, with an L1 penalty on centered activations, and with both, in a small convolutional network
// and in a recurrent language model; the smoothing term learned, layer by layer; and three
// questions that the literature leaves open: groups, weight normalization, the first gain.
// Runs are compared in pairs, seed by seed.

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "data/char_text.h"
#include "experiments/float32/divisive_nets.h"
#include "experiments/float32/subjects.h"
#include "experiments/study.h"
#include "experiments/verdict.h"
#include "problems/digits.h"
#include "support/grammar.h"
#include "support/image_sets.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::lab::divisive;
using namespace tapegrad::support;

namespace {

struct Scale {
  Index cnn_steps = 80, rnn_steps = 120, smoothing_steps = 1000;

  void add_to(Flags& flags, StudyRun&) {
    flags.setting("--cnn-steps", cnn_steps, "Steps of each image network")
        .check(between(4, 1 << 30));
    flags.setting("--rnn-steps", rnn_steps, "Steps of each language model")
        .check(between(4, 1 << 30));
    flags
        .setting("--smoothing-steps", smoothing_steps,
                 "Steps of image networks that learn their smoothing")
        .check(between(4, 1 << 30));
  }
};

using MakeScoredNet = std::function<ScoredNet(const std::string& norm, std::uint64_t seed)>;

struct DivisiveSetting {
  std::string name, title, score;  ///< of the held-out items
  Metric held_out;
  MakeScoredNet make;
  Index steps;
  std::string window;  ///< options of divisive normalization here
};

std::vector<Results> measure(const std::vector<Variant>& variants, const DivisiveSetting& setting,
                             StudyRun& run) {
  std::vector<System> systems;
  for (const Variant& variant : variants)
    systems.push_back({.name = fmt::format("{}_{}_l1={}", setting.name, variant.norm, variant.l1),
                       .configuration = {{"steps", setting.steps}},
                       .train = [&](const Trial& trial) {
                         return train(variant, setting.make(variant.norm, trial.seed),
                                      setting.steps);
                       }});
  return run.train(systems);
}

std::vector<std::string> row(const std::string& norm, const char* variant, double smoothing,
                             double l1, const Results& found, const Metric& held_out) {
  return {norm,
          variant,
          fmt::format("{}", smoothing),
          fmt::format("{}", l1),
          found.spread(training_loss).to_string(),
          found.spread(held_out).to_string()};
}

/// The family at one place. Returns the plain forms by kind.
std::map<std::string, Results> family(StudyRun& run, const DivisiveSetting& setting) {
  constexpr double plain = 1e-2, smooth = 0.5, l1 = 1e-2;
  const char* kinds[] = {"batch", "layer", "divisive"};
  std::vector<Variant> variants{{"none"}};
  for (const std::string kind : kinds)
    for (const double penalty : {0.0, l1})
      for (const double s : {plain, smooth})
        variants.push_back(
            {fmt::format("{}:s={}{}", kind, s, kind == "divisive" ? setting.window : ""), penalty});
  const std::vector<Results> found = measure(variants, setting, run);

  Table table{setting.title,
              {"normalization", "variant", "smoothing", "L1", "training loss", setting.score},
              {}};
  table.rows.push_back(row("none", "", 0, 0, found[0], setting.held_out));
  std::map<std::string, Results> plain_forms;
  std::vector<std::pair<std::string, Judgement>> smoothing_helps, penalty_helps;
  int smoothing_ahead = 0, penalty_ahead = 0;
  auto next = found.begin() + 1;
  for (const char* kind : kinds) {
    const Results &first = *next++, &smoothed = *next++, &sparse = *next++, &both = *next++;
    table.rows.push_back(row(kind, "plain", plain, 0, first, setting.held_out));
    table.rows.push_back(row(kind, "smoothed", smooth, 0, smoothed, setting.held_out));
    table.rows.push_back(row(kind, "with L1", plain, l1, sparse, setting.held_out));
    table.rows.push_back(row(kind, "with both", smooth, l1, both, setting.held_out));
    smoothing_helps.emplace_back(kind, better(setting.held_out, smoothed, first));
    penalty_helps.emplace_back(kind, better(setting.held_out, sparse, first));
    const double score = first.spread(setting.held_out).mean;
    smoothing_ahead += smoothed.spread(setting.held_out).mean < score ? 1 : 0;
    penalty_ahead += sparse.spread(setting.held_out).mean < score ? 1 : 0;
    plain_forms[kind] = first;
  }
  run.report.table(table);
  run.report.judged({"Ren et al. 2017", setting.title + ": smoothing helps every normalization.",
                     fmt::format("{} of 3 have the lower mean score", smoothing_ahead),
                     all_of(smoothing_helps)});
  run.report.judged({"Ren et al. 2017", setting.title + ": so does the L1 penalty.",
                     fmt::format("{} of 3", penalty_ahead), all_of(penalty_helps)});
  return plain_forms;
}

/// The results of a system reduced to one value.
Results with_value(Results results, const std::string& name) {
  for (Outcome& run : results.runs) run.values = {{"value", value_of(run, name)}};
  return results;
}

/// How far training moves the smoothing terms, beside how far Adam's steps can.
struct Movement {
  std::vector<std::string> row;  ///< of the table
  double all, last_quarter;  ///< the mean distance from the first value, and from the earlier one
};

Movement movement(const Results& results, const std::string& kind, Index norm) {
  const auto values = [&](const std::string& name) { return results.values({.value = name}); };
  const std::vector<double> ends = values(smoothing_name(norm)),
                            earlier = values(earlier_name(norm));
  Movement found{{}, 0, 0};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    found.all += std::abs(ends[i] - 1) / ends.size();
    found.last_quarter += std::abs(ends[i] - earlier[i]) / ends.size();
  }
  found.row = {fmt::format("{} {}", kind, norm), Spread(ends).to_string(),
               fmt::format("{:.3f}", found.all), fmt::format("{:.4f}", found.last_quarter),
               Spread(values(deviation_name(norm))).to_string()};
  return found;
}

/// The values of learned smoothing terms along the depth of a net.
void learned_smoothing(StudyRun& run, const DivisiveSetting& setting) {
  constexpr Index norms = 3;
  Table table{fmt::format("Smoothing terms after {} steps, first 1", setting.steps),
              {"norm", "sigma", "its change", "in the last quarter", "deviation of the inputs"},
              {}};
  Diagram diagram{"Learned smoothing", "norm, from the input on", "sigma", {}};
  diagram.caption = "Means over seeds; the bands are their standard deviations. All start at 1.";
  double farthest = 0, farthest_late = 0;
  std::vector<std::pair<std::string, Judgement>> falls;
  const std::vector<Results> found =
      measure({{"layer:s=1,learn_s=1"}, {"divisive:s=1,learn_s=1" + setting.window}}, setting, run);
  auto next = found.begin();
  for (const char* kind : {"layer", "divisive"}) {
    const Results& results = *next++;
    Series series{kind, {}};
    for (Index i = 1; i <= norms; ++i) {
      const Movement moved = movement(results, kind, i);
      table.rows.push_back(moved.row);
      farthest = std::max(farthest, moved.all);
      farthest_late = std::max(farthest_late, moved.last_quarter);
      const Spread sigma = results.spread({.value = smoothing_name(i)});
      series.points.emplace_back(i, sigma.mean);
      series.deviations.push_back(sigma.deviation);
    }
    diagram.series.push_back(series);
    falls.emplace_back(kind, better({.value = "value"}, with_value(results, smoothing_name(norms)),
                                    with_value(results, smoothing_name(1))));
  }
  run.report.table(table);
  run.report.figure("smoothing", diagram, Talk::yes);
  const double reach = learning_rate * setting.steps;
  run.report.judged(
      {"Ren et al. 2017", "Learned smoothing falls with depth.",
       fmt::format("the first sigma less the last; Adam's steps of {} reach {:.3g}, and "
                   "sigma moves by {:.3g} at most, in the last quarter by {:.2g} of {:.3g}",
                   learning_rate, reach, farthest, farthest_late, reach / 4),
       all_of(falls)});
}

/// Layer normalization takes its statistics over all channels. Is it worse than groups, and can it
/// replace batch normalization if weights are normalized, too?
void neighbours(StudyRun& run, const DivisiveSetting& setting) {
  Table table{setting.title + ": neighbours", {"norm", "training loss", setting.score}, {}};
  const std::vector<Variant> variants{{"layer"},          {"group:groups=2"}, {"group:groups=4"},
                                      {"layer:weight=1"}, {"weight"},         {"batch"}};
  const std::vector<Results> measured = measure(variants, setting, run);
  std::map<std::string, Results> found;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const std::string& norm = variants[i].norm;
    found[norm] = measured[i];
    table.rows.push_back({norm, found[norm].spread(training_loss).to_string(),
                          found[norm].spread(setting.held_out).to_string()});
  }
  run.report.table(table);
  const auto compare = [&](const std::string& statement, const char* a, const char* b) {
    run.report.judged({"", statement, fmt::format("{}: {} less {}", setting.score, b, a),
                       better(setting.held_out, found[a], found[b])});
  };
  compare("On images two groups of channels do better than all channels together.",
          "group:groups=2", "layer");
  compare("So do four groups.", "group:groups=4", "layer");
  compare(
      "Batch normalization does better on images than layer normalization of normalized "
      "weights, which needs no batch.",
      "batch", "layer:weight=1");
}

void first_gain(StudyRun& run, const DivisiveSetting& setting) {
  Table table{
      "Layer-normalized LSTM: the first gain", {"gain", "training loss", "held-out loss"}, {}};
  const std::string gains[] = {"1", "0.1"};
  const std::vector<Results> found =
      measure({{"layer:gain=" + gains[0]}, {"layer:gain=" + gains[1]}}, setting, run);
  for (const std::size_t i : {0, 1})
    table.rows.push_back({gains[i], found[i].spread(training_loss).to_string(),
                          found[i].spread(setting.held_out).to_string()});
  run.report.table(table);
  run.report.judged(
      {"Ba et al. 2016, section 6.2",
       "A layer-normalized LSTM learns faster when its gains begin at 1 than at 0.1, the "
       "value for batch normalization.",
       "the training loss with 0.1 minus the loss with 1",
       better(training_loss, found[0], found[1])});
}

void comparisons(StudyRun& run, const ImageSets& images, const CharText& text, const Scale& scale) {
  const DivisiveSetting on_images{
      "cnn",
      "Convolutional network",
      "errors, %",
      held_out_error,
      [&](const std::string& norm, std::uint64_t seed) { return cnn(images, norm, seed); },
      scale.cnn_steps,
      ",radius=2"};
  const auto on_text = [&](const char* name, const char* title, Cell cell) {
    return DivisiveSetting{name,
                           title,
                           "held-out loss",
                           held_out_loss,
                           [&text, cell](const std::string& norm, std::uint64_t seed) {
                             return rnn(text, cell, norm, seed);
                           },
                           scale.rnn_steps,
                           ""};
  };
  family(run, on_images);
  auto recurrent = family(run, on_text("rnn", "Recurrent language model", Cell::rnn_tanh));
  const auto ahead_of_batch = [&](const char* kind) {
    return better(training_loss, recurrent[kind], recurrent["batch"]);
  };
  run.report.judged(
      {"",
       "In recurrent nets, statistics of each case (layer, divisive) learn faster than statistics "
       "of the batch at each step.",
       "the training loss with batch minus the loss with the other",
       all_of({{"layer", ahead_of_batch("layer")}, {"divisive", ahead_of_batch("divisive")}})});
  DivisiveSetting longer = on_images;
  longer.steps = scale.smoothing_steps;
  learned_smoothing(run, longer);
  neighbours(run, on_images);
  first_gain(run, on_text("lstm", "Layer-normalized LSTM", Cell::lstm));
}

}  // namespace

void lab::measure_family(Report& report, const NormsByName& subject, Random random) {
  const Tensor x = random.normal({100, 48}, 1, 2);
  const auto distance = [](const Tensor& a, const Tensor& b) -> double {
    return max(abs(a - b)).item();
  };
  const double whole = distance(subject.normalize(x, "divisive:radius=47,s=0.5"),
                                subject.normalize(x, "layer:s=0.5"));
  const double part = distance(subject.normalize(x, "divisive:radius=8,s=0.5"),
                               subject.normalize(x, "layer:s=0.5"));
  report.claim(
      "Divisive normalization with a window over all channels is layer normalization; with a "
      "narrower window it is not.",
      fmt::format("48 channels: largest distance {:.1e} for a radius of 47, {:.2f} for 8", whole,
                  part),
      whole < 1e-5 && part > 0.1, "below 1e-5 and above 0.1");
  double worst = 0, without = 0;
  for (const std::string kind : {"layer", "divisive"}) {
    const Tensor before = subject.normalize(x, kind + ":s=0.5");
    worst = std::max(worst, distance(subject.normalize(4.0 * x, kind + ":s=2"), before));
    without = std::max(without, distance(subject.normalize(4.0 * x, kind + ":s=0.5"), before));
  }
  report.claim(
      "A smoothing term matters only relative to the size of the inputs: nothing changes when both "
      "are four times as large.",
      fmt::format("largest change {:.1e}; with larger inputs alone {:.2f}", worst, without),
      worst < 1e-5 && without > 0.01, "below 1e-5 and above 0.01");
}

namespace {

void report_divisive(StudyRun& run, const Scale& scale) {
  const ImageSets images = problems::image_sets({run.data, run.comparison.seed});
  run.report.paragraph(
      fmt::format("Images: {}. Text: sentences that this program draws. Each entry is the mean "
                  "and the standard deviation over {} seeds; the training loss is its mean over "
                  "the last quarter of the steps. s is the smoothing term: epsilon = s^2.",
                  images.source, run.comparison.seeds));
  Random drawn = run.random().stream(2);
  const CharText text(grammar_text(3000, drawn));
  run.ledger.begin(run.name, fmt::format("{}, text {}", images.digest(), text.digest()));
  measure_family(run.report, {}, drawn.stream(1));
  comparisons(run, images, text, scale);
}

const registry::Entry entry([] {
  return with_flags<Scale>(
      {.name = "divisive",
       .summary = "Compares batch, layer and divisive normalization and their variants.",
       .title = "One family: batch, layer and divisive normalization",
       .seeds = 5,
       .data = digits_flag()},
      report_divisive);
});

}  // namespace
