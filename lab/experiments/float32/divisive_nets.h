#pragma once

// The nets of the experiment divisive, and their training.

#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "data/char_text.h"
#include "experiments/comparison.h"
#include "support/image_sets.h"
#include "tapegrad/train.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab::divisive {

using namespace support;

inline constexpr double learning_rate = 2e-3;

/// A normalization and its additions.
struct Variant {
  std::string norm;
  double l1 = 0;  ///< weight of the mean of |x - mean x| over all inputs of norms
};

inline const Metric training_loss{.value = "training_loss"};  // over the last quarter of the steps
inline const Metric held_out_loss{.value = "held_out"};
inline const Metric held_out_error{// in percent
                                   .value = "held_out",
                                   .worst = 100,
                                   .of_items = true};

/// A net in training: the loss of the next batch, and its scores on held-out items.
struct ScoredNet {
  Fields fields;
  std::function<Tensor()> loss;
  std::function<std::vector<double>()> held_out;
};

/// The names of an outcome's values about the norms of a net, counted from the input on.
inline std::string smoothing_name(Index norm) { return fmt::format("smoothing_{}", norm); }
inline std::string earlier_name(Index norm) { return fmt::format("earlier_smoothing_{}", norm); }
inline std::string deviation_name(Index norm) { return fmt::format("deviation_{}", norm); }

/// Adds the learned smoothing terms of a net under their names.
inline void note_smoothing(Outcome& outcome, const Fields& net, std::string (*name)(Index)) {
  Index norm = 0;
  for (const auto& [field, parameter] : net.parameters())
    if (field.ends_with("smoothing"))
      outcome.values[name(++norm)] = std::abs(parameter.value().item());
}

inline Outcome train(const Variant& variant, const ScoredNet& net, Index steps) {
  const Index before_last = steps * 3 / 4;
  Outcome outcome;
  RunningMean last_quarter;
  double plain = 0;  // the loss without the penalty
  const Learner learner{
      .net = net.fields, .steps = RunSteps::epochs(1, steps), .loss = [&](Index step) {
        if (step == before_last) note_smoothing(outcome, net.fields, earlier_name);
        Tensor penalty = zeros({});
        Index place = 0;
        const AroundNorms seen([&](const Norm& norm, const Tensor& x, const auto& apply) {
          if (variant.l1 > 0) penalty = penalty + centered_l1(x, norm.fields_of(x.shape()).scale);
          if (norm.spec.learned_smoothing)
            outcome.values[deviation_name(++place)] = stddev(detach(x)).item();
          return apply(x);
        });
        const Tensor loss = net.loss();
        plain = loss.item();
        return loss + variant.l1 * penalty;
      }};
  Training updates({.schedule = "constant", .learning_rate = learning_rate}, {}, net.fields, steps);
  tapegrad::train(learner, updates, {.step = [&](Index step, double) {
                    outcome.curve.push_back({step, plain});
                    if (step > before_last) last_quarter.add(plain);
                  }});
  outcome.items = net.held_out();
  outcome.values[training_loss.value] = last_quarter.value();
  outcome.values[held_out_loss.value] =
      std::accumulate(outcome.items.begin(), outcome.items.end(), 0.0) / outcome.items.size();
  note_smoothing(outcome, net.fields, smoothing_name);
  return outcome;
}

/// Three convolutions, each with a norm, to compare norms at several depths.
inline Sequential make_cnn(const std::string& norm, Random& random) {
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

inline ScoredNet cnn(const ImageSets& images, const std::string& norm, std::uint64_t seed) {
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

inline ScoredNet rnn(const CharText& text, Cell cell, const std::string& norm, std::uint64_t seed) {
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

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab::divisive
