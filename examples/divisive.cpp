// Batch, layer and divisive normalization as one family (Ren et al. 2017): plain, with a smoothing
// term, with an L1 penalty on centred activations, and with both, in a small convolutional network
// and in a recurrent language model; the smoothing term learned, layer by layer; and three
// questions that the literature leaves open: groups, weight normalization, the first gain.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "support/grammar.h"
#include "support/image_sets.h"
#include "support/report.h"
#include "support/spread.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::support;

namespace {

struct Scale {
  Index seeds = 2, cnn_steps = 80, rnn_steps = 120;
  std::uint64_t seed = 1;
};

/// A normalization and what is added to it.
struct System {
  std::string norm;
  double l1 = 0;  ///< weight of the mean of |x - mean x| of all inputs of norms
};

/// Training loss over the last quarter of the steps, and what a set that was held out says.
struct Outcome {
  double training = 0, held_out = 0;
};

/// A net in training: the loss of the next batch, and its score on what was held out.
struct Task {
  Fields net;
  std::function<Tensor()> loss;
  std::function<double()> held_out;
};

Outcome train(const System& system, const Task& task, Index steps) {
  Adam optimizer(parameters(task.net), {.rate = 2e-3});
  Outcome outcome;
  double counted = 0;
  for (Index step = 0; step < steps; ++step) {
    const Tape tape;
    Tensor penalty = zeros({});
    const AroundNorms seen([&](const Norm& norm, const Tensor& x, const auto& apply) {
      if (system.l1 > 0) penalty = penalty + centred_l1(x, norm.fields_of(x.shape()).scale);
      return apply(x);
    });
    const Tensor loss = task.loss();
    optimizer.step(grad(loss + system.l1 * penalty, optimizer.parameters()));
    if (step < steps * 3 / 4) continue;
    outcome.training += loss.item();
    ++counted;
  }
  outcome.training /= counted;
  outcome.held_out = task.held_out();
  return outcome;
}

/// Three convolutions, each with a norm, so that there is a depth to look along.
Sequential make_cnn(const std::string& norm, Random& random) {
  const NormSpec spec(norm);
  const auto relu_layer = [](const Tensor& x) { return relu(x); };
  const auto pool = [](const Tensor& x) { return max_pool2d(x); };
  Sequential net;
  Index channels = 1;
  for (const Index next : {8, 16, 16}) {
    net.add(
        Conv2d(channels, next, 3, random, {.padding = 1, .weight_norm = spec.normalized_weights}));
    net.add(Norm(spec, next, Channels::second));
    net.add(relu_layer);
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
  return {fields(net), loss, [net, &images] { return error_percent(net, images.validation); }};
}

struct CharText {
  Characters characters;
  Indices training, rest;

  explicit CharText(const std::string& text) : characters(text) {
    const Indices ids = characters.encode(text);
    training = part(ids, 0, ids.size() * 9 / 10);
    rest = part(ids, training.size(), ids.size());
  }
};

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
            return loss_of(random_rows(text.rest, evaluated, steps, rows), {}).item();
          }};
}

/// The outcomes of a system over seeds.
struct Measured {
  Spread training, held_out;
};

using MakeTask = std::function<Task(const std::string& norm, std::uint64_t seed)>;

Measured measure(const System& system, const MakeTask& make, Index steps, const Scale& scale) {
  std::vector<double> training, held_out;
  for (Index i = 0; i < scale.seeds; ++i) {
    const Outcome outcome =
        train(system, make(system.norm, scale.seed + static_cast<std::uint64_t>(i)), steps);
    training.push_back(outcome.training);
    held_out.push_back(outcome.held_out);
  }
  return {Spread(training), Spread(held_out)};
}

struct Setting {
  std::string title, score;  ///< of what was held out
  MakeTask make;
  Index steps;
  std::string window;  ///< options of divisive normalization here
};

/// The family at one place. Returns the plain forms by kind.
std::map<std::string, Measured> family(Report& report, const Setting& setting, const Scale& scale) {
  constexpr double plain = 1e-2, smooth = 0.5, l1 = 1e-2;
  Table table{setting.title,
              {"normalization", "variant", "smoothing", "L1", "training loss", setting.score},
              {}};
  const auto row = [&](const std::string& norm, const char* variant, double smoothing,
                       double weight, const Measured& found) {
    table.rows.push_back({norm, variant, fmt::format("{}", smoothing), fmt::format("{}", weight),
                          found.training.text(), found.held_out.text()});
  };
  row("none", "", 0, 0, measure({"none"}, setting.make, setting.steps, scale));
  std::map<std::string, Measured> plain_forms;
  int smoothing_helps = 0, penalty_helps = 0;
  for (const char* kind : {"batch", "layer", "divisive"}) {
    const auto with = [&](double s, double penalty) {
      const std::string options = kind == std::string("divisive") ? setting.window : "";
      return measure({fmt::format("{}:s={}{}", kind, s, options), penalty}, setting.make,
                     setting.steps, scale);
    };
    const Measured first = with(plain, 0), smoothed = with(smooth, 0), sparse = with(plain, l1),
                   both = with(smooth, l1);
    row(kind, "plain", plain, 0, first);
    row(kind, "smoothed", smooth, 0, smoothed);
    row(kind, "with L1", plain, l1, sparse);
    row(kind, "with both", smooth, l1, both);
    smoothing_helps += smoothed.held_out.mean < first.held_out.mean ? 1 : 0;
    penalty_helps += sparse.held_out.mean < first.held_out.mean ? 1 : 0;
    plain_forms[kind] = first;
  }
  report.table(table);
  report.published(setting.title + ": smoothing helps every normalization (Ren et al. 2017).",
                   fmt::format("{} of 3 have the lower mean score", smoothing_helps),
                   smoothing_helps == 3);
  report.published(setting.title + ": so does the L1 penalty.",
                   fmt::format("{} of 3", penalty_helps), penalty_helps == 3);
  return plain_forms;
}

/// The smoothing terms that a net has learned, from the input on.
void learned_smoothing(Report& report, const ImageSets& images, const Scale& scale) {
  Table table{"Smoothing terms of the three norms after training, first 1", {"norm"}, {}};
  Diagram diagram{"Learned smoothing", "norm, from the input on", "sigma", {}};
  int falling = 0;
  Index changed = 0;
  for (const char* kind : {"layer", "divisive:radius=2"}) {
    for (Index i = 0; i < scale.seeds; ++i) {
      const std::string norm = std::string(kind) + (kind[0] == 'l' ? ":" : ",") + "s=1,learn_s=1";
      const Task task = cnn(images, norm, scale.seed + static_cast<std::uint64_t>(i));
      train({norm}, task, scale.cnn_steps);
      const std::string name =
          fmt::format("{} {}", std::string(kind, std::strcspn(kind, ":")), i + 1);
      Series series{name, {}};
      table.rows.push_back({name});
      for (const auto& [field, parameter] : task.net.parameters())
        if (field.ends_with("smoothing")) {
          const double sigma = std::abs(parameter.value().item());
          table.rows.back().push_back(fmt::format("{:.3f}", sigma));
          series.points.emplace_back(static_cast<double>(series.points.size() + 1), sigma);
          changed += sigma != 1;
        }
      falling += series.points.front().second > series.points.back().second;
      diagram.series.push_back(series);
    }
  }
  for (Index i = 1; i <= 3; ++i) table.columns.push_back(fmt::format("{}", i));
  report.table(table);
  report.figure("smoothing", diagram);
  report.claim("The smoothing term is a parameter like others: training moves it.",
               fmt::format("{} of {} terms are not 1 any more", changed, 6 * scale.seeds),
               changed == 6 * scale.seeds);
  report.published(
      "Learned smoothing falls with depth (Ren et al. 2017).",
      fmt::format("the last is below the first in {} of {} trainings", falling, 2 * scale.seeds),
      falling == 2 * scale.seeds);
}

/// Layer normalization takes its statistics from the sums of all channels; what does it lose
/// against groups, and does a normalized weight make up for a batch?
void neighbours(Report& report, const Setting& setting, const Scale& scale) {
  Table table{setting.title + ": neighbours", {"norm", "training loss", setting.score}, {}};
  std::map<std::string, Measured> found;
  for (const char* norm :
       {"layer", "group:groups=2", "group:groups=4", "layer:weight=1", "weight", "batch"}) {
    found[norm] = measure({norm}, setting.make, setting.steps, scale);
    table.rows.push_back({norm, found[norm].training.text(), found[norm].held_out.text()});
  }
  report.table(table);
  const auto training = [&](const char* norm) { return found[norm].training.mean; };
  const double group = std::min(training("group:groups=2"), training("group:groups=4"));
  report.published("On images groups of channels do better than all channels together.",
                   fmt::format("training loss {:.3f} with the better number of groups, {:.3f} "
                               "without groups",
                               group, training("layer")),
                   group < training("layer"));
  report.published(
      "Batch normalization does better on images than layer normalization of "
      "normalized weights, which needs no batch.",
      fmt::format("training loss {:.3f} and {:.3f}", training("batch"), training("layer:weight=1")),
      training("batch") < training("layer:weight=1"));
}

void first_gain(Report& report, const CharText& text, const Scale& scale) {
  Table table{
      "Layer-normalized LSTM: the first gain", {"gain", "training loss", "held-out loss"}, {}};
  std::vector<Measured> found;
  for (const char* gain : {"1", "0.1"}) {
    const auto make = [&](const std::string& norm, std::uint64_t seed) {
      return rnn(text, Cell::lstm, norm, seed);
    };
    found.push_back(measure({std::string("layer:gain=") + gain}, make, scale.rnn_steps, scale));
    table.rows.push_back({gain, found.back().training.text(), found.back().held_out.text()});
  }
  report.table(table);
  report.claim(
      "A layer-normalized LSTM learns faster from gains of 1 than from 0.1, which is for "
      "batch normalization.",
      fmt::format("training loss {:.3f} and {:.3f}", found[0].training.mean,
                  found[1].training.mean),
      found[0].training.mean < found[1].training.mean);
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags("divisive", "Compares batch, layer and divisive normalization and their variants.");
  Report report;
  Scale scale;
  std::string data;
  flags.setting("--seeds", scale.seeds, "Trainings of each system")->check(between(1, 100));
  flags.setting("--cnn-steps", scale.cnn_steps, "Steps of each network for images");
  flags.setting("--rnn-steps", scale.rnn_steps, "Steps of each language model");
  flags.setting("--seed", scale.seed, "First seed of data, weights and order");
  flags.setting("--data", data, "Directory of MNIST's four files; without it, draws digits");
  report.add_to(flags);
  return flags.run(argc, argv, [&] {
    report.begin("divisive", "One family: batch, layer and divisive normalization",
                 command_line(argc, argv));
    const ImageSets images = data.empty() ? draw_image_sets(scale.seed) : read_image_sets(data);
    report.paragraph(fmt::format(
        "Images: {}. Text: sentences that this program draws. Each entry is the mean of {} "
        "trainings with other seeds and their standard deviation; the training loss is that of "
        "the last quarter of the steps. s is the smoothing term: epsilon = s^2.",
        images.source, scale.seeds));
    Random drawn = Random(scale.seed).stream(2);
    const CharText text(grammar_text(3000, drawn));
    const Setting on_images{
        "Convolutional network", "errors, %",
        [&](const std::string& norm, std::uint64_t seed) { return cnn(images, norm, seed); },
        scale.cnn_steps, ",radius=2"};
    const Setting on_text{"Recurrent language model", "held-out loss",
                          [&](const std::string& norm, std::uint64_t seed) {
                            return rnn(text, Cell::rnn_tanh, norm, seed);
                          },
                          scale.rnn_steps, ""};
    family(report, on_images, scale);
    auto recurrent = family(report, on_text, scale);
    const double batch = recurrent["batch"].training.mean, layer = recurrent["layer"].training.mean,
                 divisive = recurrent["divisive"].training.mean;
    report.claim(
        "Through time, statistics of the case (layer, divisive) learn faster than those "
        "of a batch at each step.",
        fmt::format("training loss {:.3f} and {:.3f} against {:.3f}", layer, divisive, batch),
        std::max(layer, divisive) < batch);
    learned_smoothing(report, images, scale);
    neighbours(report, on_images, scale);
    first_gain(report, text, scale);
    return report.finish();
  });
}
