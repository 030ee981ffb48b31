// Batch, layer and divisive normalization as one family (Ren et al. 2017): plain, with a smoothing
// term, with an L1 penalty on centered activations, and with both, in a small convolutional network
// and in a recurrent language model; the smoothing term learned, layer by layer; and three
// questions that the literature leaves open: groups, weight normalization, the first gain.

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "lab/comparison.h"
#include "lab/registry.h"
#include "lab/report.h"
#include "lab/verdict.h"
#include "support/char_text.h"
#include "support/grammar.h"
#include "support/image_sets.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::support;

namespace {

struct Scale {
  Index cnn_steps = 80, rnn_steps = 120;
};

/// A normalization and its additions.
struct Variant {
  std::string norm;
  double l1 = 0;  ///< weight of the mean of |x - mean x| over all inputs of norms
};

const Metric training_loss{.value = "training_loss"};  // over the last quarter of the steps
const Metric held_out_loss{.value = "held_out"};
const Metric held_out_error{// in percent
                            .value = "held_out",
                            .worst = 100,
                            .of_items = true};

/// A net in training: the loss of the next batch, and its scores on held-out items.
struct Task {
  Fields net;
  std::function<Tensor()> loss;
  std::function<std::vector<double>()> held_out;
};

/// The name of a norm's learned smoothing term in an outcome.
std::string smoothing_name(Index norm) { return fmt::format("smoothing_{}", norm); }

Outcome train(const Variant& variant, const Task& task, Index steps) {
  Adam optimizer(parameters(task.net), {.learning_rate = 2e-3});
  Outcome outcome;
  double sum = 0, counted = 0;
  for (Index step = 0; step < steps; ++step) {
    const Tape tape;
    Tensor penalty = zeros({});
    const AroundNorms seen([&](const Norm& norm, const Tensor& x, const auto& apply) {
      if (variant.l1 > 0) penalty = penalty + centered_l1(x, norm.fields_of(x.shape()).scale);
      return apply(x);
    });
    const Tensor loss = task.loss();
    optimizer.step(grad(loss + variant.l1 * penalty, optimizer.parameters()));
    outcome.curve.push_back({step + 1, loss.item()});
    if (step < steps * 3 / 4) continue;
    sum += loss.item();
    ++counted;
  }
  outcome.items = task.held_out();
  outcome.values = {
      {training_loss.value, sum / counted},
      {held_out_loss.value, std::accumulate(outcome.items.begin(), outcome.items.end(), 0.0) /
                                static_cast<double>(outcome.items.size())}};
  Index norm = 0;
  for (const auto& [field, parameter] : task.net.parameters())
    if (field.ends_with("smoothing"))
      outcome.values[smoothing_name(++norm)] = std::abs(parameter.value().item());
  return outcome;
}

/// Three convolutions, each with a norm, to compare norms at several depths.
Sequential make_cnn(const std::string& norm, Random& random) {
  const NormSpec spec(norm);
  const auto pool = [](const Tensor& x) { return max_pool2d(x); };
  Sequential net;
  Index channels = 1;
  for (const Index next : {8, 16, 16}) {
    net.add(
        Conv2d(channels, next, 3, random, {.padding = 1, .weight_norm = spec.normalized_weights}));
    net.add(Norm(spec, next, Channels::second));
    net.add(relu);
    net.add(pool);
    channels = next;
  }
  net.add(Flatten());
  net.add(Linear(16 * 3 * 3, 10, random));
  return net;
}

Task cnn(const ImageSets& images, const std::string& norm, std::uint64_t seed) {
  Random random(seed);
  const Sequential net = make_cnn(norm, random);
  auto order = std::make_shared<Random>(random.stream(1));
  const auto loss = [net, order, &images] {
    const Batch batch = *Batches(images.train, 32, *order).begin();
    return cross_entropy(net(batch.images, training(*order)), batch.labels);
  };
  return {fields(net), loss, [net, &images] {
            std::vector<double> errors = misclassified(net, images.validation);
            for (double& each : errors) each *= 100;
            return errors;
          }};
}

Task rnn(const CharText& text, Cell cell, const std::string& norm, std::uint64_t seed) {
  constexpr Index steps = 24, batch_size = 16, evaluated = 200;
  Random random(seed);
  const CharRnn net(text.characters.count(), random,
                    {.cell = cell, .embedding = 16, .hidden = 48, .recurrent = {.norm = norm}});
  auto order = std::make_shared<Random>(random.stream(1));
  const auto loss_of = [net](const TextBatch& batch, Mode mode) {
    return cross_entropy(net(transposed(batch.inputs), {}, mode).logits, transposed(batch.targets));
  };
  return {fields(net),
          [loss_of, order, &text] {
            return loss_of(random_rows(text.training, batch_size, steps, *order), training(*order));
          },
          [loss_of, &text] {
            Random rows(1);
            return std::vector{
                double{loss_of(random_rows(text.rest, evaluated, steps, rows), {}).item()}};
          }};
}

using MakeTask = std::function<Task(const std::string& norm, std::uint64_t seed)>;

struct Setting {
  std::string name, title, score;  ///< of the held-out items
  Metric held_out;
  MakeTask make;
  Index steps;
  std::string window;  ///< options of divisive normalization here
};

std::vector<Results> measure(const std::vector<Variant>& variants, const Setting& setting,
                             const Comparison& comparison) {
  std::vector<System> systems;
  for (const Variant& variant : variants)
    systems.push_back({.name = fmt::format("{}_{}_l1={}", setting.name, variant.norm, variant.l1),
                       .configuration = {{"steps", setting.steps}},
                       .train = [&](const Trial& trial) {
                         return train(variant, setting.make(variant.norm, trial.seed),
                                      setting.steps);
                       }});
  return comparison.train(systems);
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
std::map<std::string, Results> family(Report& report, const Setting& setting,
                                      const Comparison& comparison) {
  constexpr double plain = 1e-2, smooth = 0.5, l1 = 1e-2;
  const char* kinds[] = {"batch", "layer", "divisive"};
  std::vector<Variant> variants{{"none"}};
  for (const std::string kind : kinds)
    for (const double penalty : {0.0, l1})
      for (const double s : {plain, smooth})
        variants.push_back(
            {fmt::format("{}:s={}{}", kind, s, kind == "divisive" ? setting.window : ""), penalty});
  const std::vector<Results> found = measure(variants, setting, comparison);

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
  report.table(table);
  report.published(setting.title + ": smoothing helps every normalization (Ren et al. 2017).",
                   fmt::format("{} of 3 have the lower mean score", smoothing_ahead),
                   all_of(smoothing_helps));
  report.published(setting.title + ": so does the L1 penalty.",
                   fmt::format("{} of 3", penalty_ahead), all_of(penalty_helps));
  return plain_forms;
}

/// The results of a system reduced to one value.
Results with_value(Results results, const std::string& name) {
  for (Outcome& training : results.trainings)
    training.values = {{"value", training.values.at(name)}};
  return results;
}

/// The values of learned smoothing terms along the depth of a net.
void learned_smoothing(Report& report, const Setting& setting, const Comparison& comparison) {
  constexpr Index norms = 3;
  Table table{"Smoothing terms of the three norms after training, first 1", {"norm"}, {}};
  Diagram diagram{"Learned smoothing", "norm, from the input on", "sigma", {}};
  Index falling = 0, changed = 0, trainings = 0;
  std::vector<std::pair<std::string, Judgement>> falls;
  const std::vector<Results> found = measure(
      {{"layer:s=1,learn_s=1"}, {"divisive:s=1,learn_s=1" + setting.window}}, setting, comparison);
  auto next = found.begin();
  for (const char* kind : {"layer", "divisive"}) {
    const Results& results = *next++;
    Index seed = 0;
    for (const Outcome& training : results.trainings) {
      ++trainings;
      const std::string name = fmt::format("{} {}", kind, ++seed);
      Series series{name, {}};
      table.rows.push_back({name});
      for (Index i = 1; i <= norms; ++i) {
        const double sigma = training.values.at(smoothing_name(i));
        table.rows.back().push_back(fmt::format("{:.3f}", sigma));
        series.points.emplace_back(static_cast<double>(i), sigma);
        changed += sigma != 1;
      }
      falling += series.points.front().second > series.points.back().second;
      diagram.series.push_back(series);
    }
    falls.emplace_back(kind, better({.value = "value"}, with_value(results, smoothing_name(norms)),
                                    with_value(results, smoothing_name(1))));
  }
  for (Index i = 1; i <= norms; ++i) table.columns.push_back(fmt::format("{}", i));
  report.table(table);
  report.figure("smoothing", diagram);
  report.claim("The smoothing term is a parameter like others: training moves it.",
               fmt::format("{} of {} terms are not 1 any more", changed, norms * trainings),
               changed == norms * trainings);
  report.published(
      "Learned smoothing falls with depth (Ren et al. 2017).",
      fmt::format("the last is below the first in {} of {} trainings", falling, trainings),
      all_of(falls));
}

/// Layer normalization takes its statistics over all channels. How much worse is it than groups,
/// and can weight normalization replace batch normalization?
void neighbours(Report& report, const Setting& setting, const Comparison& comparison) {
  Table table{setting.title + ": neighbours", {"norm", "training loss", setting.score}, {}};
  const std::vector<Variant> variants{{"layer"},          {"group:groups=2"}, {"group:groups=4"},
                                      {"layer:weight=1"}, {"weight"},         {"batch"}};
  const std::vector<Results> measured = measure(variants, setting, comparison);
  std::map<std::string, Results> found;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const std::string& norm = variants[i].norm;
    found[norm] = measured[i];
    table.rows.push_back({norm, found[norm].spread(training_loss).to_string(),
                          found[norm].spread(setting.held_out).to_string()});
  }
  report.table(table);
  const auto loss = [&](const char* norm) { return found[norm].spread(training_loss).mean; };
  const char* group =
      loss("group:groups=4") < loss("group:groups=2") ? "group:groups=4" : "group:groups=2";
  report.published("On images groups of channels do better than all channels together.",
                   fmt::format("training loss {:.3f} with the better number of groups, {:.3f} "
                               "without groups",
                               loss(group), loss("layer")),
                   better(training_loss, found[group], found["layer"]));
  report.published(
      "Batch normalization does better on images than layer normalization of "
      "normalized weights, which needs no batch.",
      fmt::format("training loss {:.3f} and {:.3f}", loss("batch"), loss("layer:weight=1")),
      better(training_loss, found["batch"], found["layer:weight=1"]));
}

void first_gain(Report& report, const Setting& setting, const Comparison& comparison) {
  Table table{
      "Layer-normalized LSTM: the first gain", {"gain", "training loss", "held-out loss"}, {}};
  std::vector<double> losses;
  const std::string gains[] = {"1", "0.1"};
  const std::vector<Results> found =
      measure({{"layer:gain=" + gains[0]}, {"layer:gain=" + gains[1]}}, setting, comparison);
  for (const std::size_t i : {0, 1}) {
    losses.push_back(found[i].spread(training_loss).mean);
    table.rows.push_back({gains[i], found[i].spread(training_loss).to_string(),
                          found[i].spread(setting.held_out).to_string()});
  }
  report.table(table);
  report.claim(
      "A layer-normalized LSTM learns faster from gains of 1 than from 0.1, which is for "
      "batch normalization.",
      fmt::format("training loss {:.3f} and {:.3f}", losses[0], losses[1]), losses[0] < losses[1]);
}

void comparisons(Report& report, const ImageSets& images, const CharText& text, const Scale& scale,
                 const Comparison& comparison) {
  const Setting on_images{
      "cnn",
      "Convolutional network",
      "errors, %",
      held_out_error,
      [&](const std::string& norm, std::uint64_t seed) { return cnn(images, norm, seed); },
      scale.cnn_steps,
      ",radius=2"};
  const auto on_text = [&](const char* name, const char* title, Cell cell) {
    return Setting{name,
                   title,
                   "held-out loss",
                   held_out_loss,
                   [&text, cell](const std::string& norm, std::uint64_t seed) {
                     return rnn(text, cell, norm, seed);
                   },
                   scale.rnn_steps,
                   ""};
  };
  family(report, on_images, comparison);
  auto recurrent =
      family(report, on_text("rnn", "Recurrent language model", Cell::rnn_tanh), comparison);
  const auto loss = [&](const char* kind) { return recurrent[kind].spread(training_loss).mean; };
  const double batch = loss("batch"), layer = loss("layer"), divisive = loss("divisive");
  report.claim(
      "Through time, statistics of the case (layer, divisive) learn faster than those "
      "of a batch at each step.",
      fmt::format("training loss {:.3f} and {:.3f} against {:.3f}", layer, divisive, batch),
      std::max(layer, divisive) < batch);
  learned_smoothing(report, on_images, comparison);
  neighbours(report, on_images, comparison);
  first_gain(report, on_text("lstm", "Layer-normalized LSTM", Cell::lstm), comparison);
}

int run(const registry::Experiment& self, int argc, char** argv) {
  Flags flags(argv[0], self.summary);
  Report report;
  Ledger ledger;
  ComparisonFlags settings{.seeds = least_seeds};
  Scale scale;
  std::string data;
  settings.add_to(flags, 1);
  flags.setting("--cnn-steps", scale.cnn_steps, "Steps of each image network")
      ->check(between(4, 1 << 30));
  flags.setting("--rnn-steps", scale.rnn_steps, "Steps of each language model")
      ->check(between(4, 1 << 30));
  flags.setting("--data", data, "Directory of MNIST's four files; without it, draws digits")
      ->check(file_name());
  report.add_to(flags);
  ledger.add_to(flags);
  return flags.run(argc, argv, [&] {
    set_threads(settings.threads);
    Cluster cluster;
    report.begin(self.name, "One family: batch, layer and divisive normalization",
                 command_line(argc, argv), cluster.is_first());
    const ImageSets images = data.empty() ? draw_image_sets(settings.seed) : read_image_sets(data);
    report.paragraph(fmt::format(
        "Images: {}. Text: sentences that this program draws. Each entry is the mean of {} "
        "trainings with other seeds and their standard deviation; the training loss is that of "
        "the last quarter of the steps. s is the smoothing term: epsilon = s^2.",
        images.source, settings.seeds));
    Random drawn = Random(settings.seed).stream(2);
    const CharText text(grammar_text(3000, drawn));
    ledger.begin(self.name, fmt::format("{}, text {}", images.digest(), text.digest()));
    const Comparison comparison(cluster, ledger, settings);
    comparisons(report, images, text, scale, comparison);
    return report.finish();
  });
}

const registry::Entry entry({"divisive",
                             "Compares batch, layer and divisive normalization and their variants.",
                             run, true});

}  // namespace
