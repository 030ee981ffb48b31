#include "lab/drift_tasks.h"

#include <cmath>
#include <memory>
#include <numeric>

#include "tapegrad/models/conv_net.h"
#include "tapegrad/models/mlp.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

constexpr Index rows_in_batch = 16, length = 32, images_in_batch = 32;

double bits_a_character(const TransformerLm& net, const Indices& text) {
  double total = 0;
  for (const auto& group : text_blocks(text, 64, length))
    for (const auto& [inputs, targets] : group)
      total += cross_entropy(net(inputs), targets).item() * static_cast<double>(targets.size());
  return total / static_cast<double>(text.size() - 1) / std::log(2.0);
}

void initialize_like_the_paper(const TransformerStack& stack, Random& random) {
  for (Parameter& parameter : parameters(stack)) {
    if (is_vector(parameter.shape())) continue;
    const double bound = 1 / std::sqrt(static_cast<double>(parameter.shape()[0]));
    parameter.set(random.uniform(parameter.shape(), -bound, bound));
  }
}

double error_percentage(const Layer& net, const ImageSet& set) {
  const std::vector<double> wrong = support::misclassified(net, set);
  return 100 * std::accumulate(wrong.begin(), wrong.end(), 0.0) / static_cast<double>(wrong.size());
}

template <class Net>
LearningTask image_task(const Net& net, const support::ImageSets& sets, const Trial& trial,
                        std::function<bool(const std::string&)> feeds_norms) {
  const auto order = std::make_shared<Random>(trial.batches());
  const Layer layer = net;
  return {.fields = fields(net),
          .feeds_norms = std::move(feeds_norms),
          .next =
              [net, &sets, order] {
                std::vector<Index> chosen;
                for (Index i = 0; i < images_in_batch; ++i)
                  chosen.push_back(order->below(sets.train.count()));
                return [net, batch = sets.train.batch(chosen)] {
                  return cross_entropy(net(batch.images), batch.labels);
                };
              },
          .validation = [layer, &sets] { return error_percentage(layer, sets.validation); },
          .test = [layer, &sets] { return error_percentage(layer, sets.test); }};
}

}  // namespace

LearningTask transformer_task(const support::CharText& text, const DriftNet& options,
                              const Trial& trial) {
  Random random = trial.weights();
  const bool pre = options.placement == "pre";  // post-norm blocks read the embedding as it is
  const TransformerLm net(text.characters.count(), random,
                          {.stack = {.layers = options.layers,
                                     .heads = 4,
                                     .channels = options.channels,
                                     .norm = NormSpec(options.norm),
                                     .placement = pre ? NormPlacement::pre : NormPlacement::post,
                                     .bias = false},
                           .length = length});
  if (options.initial == "paper") initialize_like_the_paper(net.stack, random);
  const auto order = std::make_shared<Random>(trial.batches());
  const Index half = text.rest.size() / 2;
  return {
      .fields = fields(net),
      .feeds_norms =
          [](const std::string& name) {
            return name.starts_with("embedding.") || name.ends_with("attention.output.weight") ||
                   name.ends_with("down.weight");
          },
      .next =
          [net, &text, order] {
            return [net, batch = random_rows(text.training, rows_in_batch, length, *order)] {
              return cross_entropy(net(batch.inputs), batch.targets);
            };
          },
      .validation = [net, &text, half] { return bits_a_character(net, part(text.rest, 0, half)); },
      .test = [net, &text,
               half] { return bits_a_character(net, part(text.rest, half, text.rest.size())); }};
}

LearningTask perceptron_task(const support::ImageSets& sets, const DriftNet& options,
                             const Trial& trial) {
  Random random = trial.weights();
  std::vector<Index> sizes{sets.train.height * sets.train.width};
  for (Index i = 0; i < options.layers; ++i) sizes.push_back(4 * options.channels);
  sizes.push_back(sets.classes);
  const Mlp net(sizes, random, {.norm = NormSpec(options.norm)});
  const std::string last = fields(net).parameters().back().name;
  const std::string output = last.substr(0, last.rfind('.') + 1);
  return image_task(net, sets, trial,
                    [output](const std::string& name) { return !name.starts_with(output); });
}

LearningTask conv_net_task(const support::ImageSets& sets, const DriftNet& options,
                           const Trial& trial) {
  Random random = trial.weights();
  NormSpec norm(options.norm);
  const NormSpec hidden = norm;
  norm.over_channels = options.axes == "channels";
  const ConvNet net(random, {.norm = norm, .hidden_norm = hidden});
  return image_task(net, sets, trial,
                    [](const std::string& name) { return !name.starts_with("output."); });
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
