#include "experiments/drift_tasks.h"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>

#include "experiments/char_models.h"
#include "experiments/forms.h"
#include "support/grammar.h"
#include "tapegrad/models/conv_net.h"
#include "tapegrad/models/mlp.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

/// An optimizer and the middle of its learning rates.
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

constexpr Index rows_in_batch = 16;

double error_percentage(const Layer& net, const ImageSet& set) {
  const std::vector<double> wrong = support::misclassified(net, set);
  return 100 * std::accumulate(wrong.begin(), wrong.end(), 0.0) / wrong.size();
}

// Batches that are drawn one after the other. The last one drawn is the same as often as it is
// asked for.
template <class Batch>
class DrawnBatches {
 public:
  explicit DrawnBatches(std::function<Batch()> draw) : draw_(std::move(draw)) {}

  const Batch& at(Index step) {
    for (; drawn_ <= step; ++drawn_) batch_ = draw_();
    return batch_;
  }

 private:
  std::function<Batch()> draw_;
  Index drawn_ = 0;
  Batch batch_;
};

template <class Net>
Learner image_task(const Net& net, const support::ImageSets& sets, const Condition& condition,
                   const Trial& trial) {
  const Layer layer = net;
  const auto batches = std::make_shared<DrawnBatches<Batch>>(
      [&sets, order = trial.batches(), images = condition.images]() mutable {
        std::vector<Index> chosen;
        for (Index i = 0; i < images; ++i) chosen.push_back(order.below(sets.train.count()));
        return sets.train.batch(chosen);
      });
  return {.net = fields(net),
          .steps = RunSteps::epochs(1, condition.steps),
          .loss =
              [net, batches](Index step) {
                const auto& [images, labels] = batches->at(step);
                return cross_entropy(net(images), labels);
              },
          .validate =
              [layer, &sets] {
                return Metrics{
                    {"validation", error_percentage(layer, sets.validation)},
                    {"validation_loss", support::mean_cross_entropy(layer, sets.validation)}};
              },
          .test =
              [layer, &sets] {
                return Metrics{{"test", error_percentage(layer, sets.test)}};
              }};
}

Learner transformer_task(const support::CharText& text, const Condition& condition,
                         const NormSpec& norm, const Trial& trial) {
  const DriftNet& options = condition.net;
  Random random = trial.weights();
  const bool pre = options.placement == "pre";  // post-norm blocks read the embedding as it is
  const TransformerLm net(text.characters.count(), random,
                          {.stack = {.layers = options.layers,
                                     .heads = 4,
                                     .channels = options.channels,
                                     .norm = norm,
                                     .placement = pre ? NormPlacement::pre : NormPlacement::post,
                                     .bias = false},
                           .length = characters_in_row});
  if (options.initial == "paper") initialize_like_paper(parameters(net.stack), random);
  const auto batches =
      std::make_shared<DrawnBatches<TextBatch>>([&text, order = trial.batches()]() mutable {
        return random_rows(text.training, rows_in_batch, characters_in_row, order);
      });
  const auto bits = [net, &text](Index begin, Index end) {
    return bits_a_character(net, part(text.rest, begin, end), characters_in_row);
  };
  const Index half = text.rest.size() / 2;
  return {.net = fields(net),
          .steps = RunSteps::epochs(1, condition.steps),
          .loss =
              [net, batches](Index step) {
                const auto& [inputs, targets] = batches->at(step);
                return cross_entropy(net(inputs), targets);
              },
          .validate =
              [bits, half] {
                const double found = bits(0, half);
                return Metrics{{"validation", found}, {"validation_loss", found}};
              },
          .test =
              [bits, half, &text] {
                return Metrics{{"test", bits(half, text.rest.size())}};
              }};
}

Learner perceptron_task(const support::ImageSets& sets, const Condition& condition,
                        const NormSpec& norm, const Trial& trial) {
  Random random = trial.weights();
  std::vector<Index> sizes{sets.train.height * sets.train.width};
  for (Index i = 0; i < condition.net.layers; ++i) sizes.push_back(4 * condition.net.channels);
  sizes.push_back(sets.classes);
  const Mlp net(sizes, random, {.norm = norm});
  if (condition.net.initial == "he") initialize_like_he(parameters(net), random);
  return image_task(net, sets, condition, trial);
}

Learner conv_net_task(const support::ImageSets& sets, const Condition& condition,
                      const NormSpec& norm, const Trial& trial) {
  Random random = trial.weights();
  NormSpec convolutional = norm;  // only layer normalization has a choice of axes
  if (condition.net.axes == "channels" && norm.method->name == "layer")
    convolutional.method = NormSpec("layer:over=channels").method;
  const ConvNet net(random, {.norm = convolutional, .hidden_norm = norm});
  return image_task(net, sets, condition, trial);
}

}  // namespace

double Condition::usual_rate() const {
  const KnownOptimizer& known = known_optimizers.at(optimizer);
  return is_text() ? known.text_rate : known.image_rate;
}

std::string Condition::name() const {
  std::string name = task + " " + optimizer;
  if (task == "cnn") return fmt::format("{} {} {}", name, net.axes, steps);
  if (is_text()) name += fmt::format(" {} {}", net.initial, net.placement);
  return fmt::format("{} {}x{} {}", name, net.layers, is_text() ? net.channels : 4 * net.channels,
                     steps);
}

Condition ConditionLists::base() const {
  return {tasks.front(),
          optimizers.front(),
          {.initial = initials.front(),
           .placement = placements.front(),
           .axes = axes.front(),
           .layers = layers.front(),
           .channels = channels.front()},
          steps.front()};
}

std::vector<Condition> ConditionLists::conditions() const {
  std::vector<Condition> all;
  for (const std::string& task : tasks) {
    Condition from = base();
    from.task = task;
    const bool first = task == tasks.front();
    all.push_back(from);
    // Adds a condition for each further value. `member` returns what to set of a condition.
    const auto vary = [&](const auto& values, const auto& member) {
      for (std::size_t i = 1; i < values.size(); ++i) {
        all.push_back(from);
        member(all.back()) = values[i];
      }
    };
    vary(
        optimizers, [](Condition & c) -> auto& { return c.optimizer; });
    if (task == "cnn")
      vary(
          axes, [](Condition & c) -> auto& { return c.net.axes; });
    if (!first) continue;
    vary(
        steps, [](Condition & c) -> auto& { return c.steps; });
    if (task == "cnn") continue;
    vary(
        layers, [](Condition & c) -> auto& { return c.net.layers; });
    vary(
        channels, [](Condition & c) -> auto& { return c.net.channels; });
    if (!from.is_text()) continue;
    vary(
        initials, [](Condition & c) -> auto& { return c.net.initial; });
    vary(
        placements, [](Condition & c) -> auto& { return c.net.placement; });
  }
  return all;
}

std::vector<std::string> drift_optimizers() {
  std::vector<std::string> names;
  for (const auto& [name, known] : known_optimizers) names.push_back(name);
  return names;
}

DriftData make_drift_data(const std::vector<std::string>& tasks, const std::string& text,
                          const std::string& images, std::uint64_t seed) {
  const auto has = [&](const char* task) { return std::ranges::count(tasks, task) > 0; };
  Random random = Random(seed).stream(7);
  DriftData data{.grammar = support::CharText(support::grammar_text(8000, random))};
  if (has("text")) data.text = text_to_learn(text, read_text(text), characters_in_row);
  if (has("mnist") || has("cnn"))
    data.images =
        images.empty() ? support::draw_image_sets(seed) : support::read_image_sets(images);
  return data;
}

std::string DriftData::digest() const {
  return grammar.digest() + (text ? text->digest() : "") +
         (images ? images->digest() + images->test_digest() : "");
}

Learner make_task(const Condition& condition, const NormSpec& norm, const DriftData& data,
                  const Trial& trial) {
  if (condition.task == "mnist") return perceptron_task(*data.images, condition, norm, trial);
  if (condition.task == "cnn") return conv_net_task(*data.images, condition, norm, trial);
  return transformer_task(condition.task == "text" ? *data.text : data.grammar, condition, norm,
                          trial);
}

Outcome train(const LearnerOfSystem& make, const std::string& optimizer, const std::string& system,
              double rate, const Trial& trial, const std::function<void(double loss)>& seen,
              bool is_watched) {
  const auto [norm, remedy, unit] = norm_and_constraints(system);
  const Learner task = make(system, trial);
  return train_watched(task,
                       {.optimizer = {.optimizer = known_optimizers.at(optimizer).options,
                                      .learning_rate = rate,
                                      .warmup = task.steps.total / 20,
                                      .beta2 = 0.99,
                                      .weight_decay = optimizer == "adamw" ? 0.1 : 0},
                        .measures = is_watched ? DriftOptions{}.measures : 0,
                        .remedy = remedy,
                        .unit = unit},
                       seen);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
