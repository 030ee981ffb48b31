#include "trainers/order_tasks.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/hypernyms.h"
#include "data/shuffled_epochs.h"
#include "support/saved_net.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/nn/metrics/ranking.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/order.h"
#include "tapegrad/train/output.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

/// Concepts as points with coordinates of at least 0; the nearer to the origin, the more general.
Embedding make_net(const OrderFlags& flags, Index concepts) {
  Random random(flags.seed);
  Embedding net(concepts, flags.hidden, random);
  net.weight.set(random.uniform(net.weight.shape()));
  return net;
}

/// A net in training.
class HypernymTraining {
 public:
  HypernymTraining(const OrderFlags& flags, const Hierarchy& hierarchy, const HypernymSets& sets)
      : flags_(flags),
        count_(std::ssize(hierarchy.names)),
        sets_(sets),
        net_(make_net(flags, count_)),
        batches_(flags.seed, [this](Random& order) { return draw_epoch(order); }) {}

  int train(Trainer& trainer) {
    const auto steps = RunSteps::epochs(flags_.epochs, batches_.per_epoch());
    return trainer.train(
        {.net = fields(net_),
         .steps = steps,
         .loss = {[&](Index step) { return std::ssize(batches_.at(step).positive); },
                  [&](Index step, const Shard& shard, Random&) { return loss(step, shard); }},
         .seed = flags_.seed,
         .description =
             fmt::format("model: {} parameters; {} steps of {} pairs, half of them wrong\n",
                         parameter_count(net_), steps.total, 2 * flags_.batch_size),
         .validate =
             [&] {
               return Metrics{{"validation_accuracy", threshold().accuracy}};
             },
         .metric = {.name = "validation_accuracy", .higher_is_better = true},
         .test = [&] { return finish(); },
         .project = [weight = net_.weight]() mutable { weight.set(maximum(weight.value(), 0)); }});
  }

 private:
  /// All pairs in random order, with new wrong ones beside them.
  std::vector<HypernymExamples> draw_epoch(Random& order) const {
    std::vector<HypernymExamples> batches;
    for (const Index i : order.permutation(std::ssize(sets_.train)).values()) {
      if (batches.empty() || std::ssize(batches.back().positive) == flags_.batch_size)
        batches.emplace_back();
      batches.back().positive.push_back(sets_.train[i]);
    }
    for (HypernymExamples& batch : batches)
      batch.negative = corrupted(batch.positive, count_, order);
    return batches;
  }

  /// The mean over all pairs of E where they hold, and of max(0, margin - E) where they do not.
  Tensor loss(Index step, const Shard& shard) {
    const HypernymExamples& batch = batches_.at(step);
    const auto own = [&](const Hypernyms& all) {
      return std::span(all).subspan(shard.begin, shard.end - shard.begin);
    };
    return (mean(violations(net_, own(batch.positive))) +
            mean(relu(flags_.margin - violations(net_, own(batch.negative))))) /
           2;
  }

  /// The threshold of the validation set.
  Threshold threshold() const {
    return best_threshold(violations(net_, sets_.validation.positive),
                          violations(net_, sets_.validation.negative));
  }

  Metrics finish() {
    const double accuracy =
        threshold_accuracy(threshold().bound, violations(net_, sets_.test.positive),
                           violations(net_, sets_.test.negative));
    write_result(fmt::format(
        "test accuracy {:.4f}; by what follows from the pairs known, without learning, {:.4f}; at "
        "most {:.4f}, since {:.1f} % of the wrong pairs hold\n",
        accuracy, closure_accuracy(sets_, count_), 1 - sets_.false_negatives / 2,
        100 * sets_.false_negatives));
    return {{"test_accuracy", accuracy}};
  }

  const OrderFlags& flags_;
  Index count_;
  const HypernymSets& sets_;
  Embedding net_;
  ShuffledEpochs<HypernymExamples> batches_;
};

/// The order around a concept: the others by what it costs that they are above it, or below it.
class Neighbours {
 public:
  Neighbours(const Embedding& net, const Hierarchy& hierarchy, Index concept_number)
      : net_(net),
        names_(hierarchy.names),
        all_(closure(std::ssize(names_), hierarchy.direct)),
        concept_(concept_number) {}

  /// The pairs of the concept with all others that cost least.
  void write(const char* title, bool above, std::size_t most) const {
    Hypernyms pairs;
    for (Index other = 0; other < std::ssize(names_); ++other)
      if (other != concept_)
        pairs.push_back(above ? Hypernym{other, concept_} : Hypernym{concept_, other});
    const Tensor costs = violations(net_, pairs);
    write_result(fmt::format("{}\n", title));
    const Indices order = argsort(costs);
    for (std::size_t i = 0; i < std::min(most, pairs.size()); ++i) {
      const Index at = order.data()[i];
      const Hypernym& pair = pairs[at];
      write_result(fmt::format(
          "  {:<32} cost {:.4f}  {}\n", printable(names_[above ? pair.general : pair.specific]),
          costs.data()[at], std::ranges::binary_search(all_, pair) ? "holds" : "does not hold"));
    }
  }

 private:
  const Embedding& net_;
  const std::vector<std::string>& names_;
  Hypernyms all_;
  Index concept_;
};

int answer(const OrderFlags& flags, const Hierarchy& hierarchy) {
  const auto found = std::ranges::find(hierarchy.names, flags.query);
  if (found == hierarchy.names.end())
    throw FlagError("--query", fmt::format("there is no concept {} in {}", beginning(flags.query),
                                           hierarchy.source));
  const auto count = std::ssize(hierarchy.names);
  const Embedding net = make_net(flags, count);
  load_saved_net(flags.run_flags, flags.optimizer, fields(net));
  const Neighbours around(net, hierarchy, found - hierarchy.names.begin());
  around.write("more general:", true, 15);
  around.write("more specific:", false, 15);
  return 0;
}

}  // namespace

int run_hypernyms(const OrderFlags& flags, Trainer& trainer) {
  constexpr std::uint64_t seed = 1;  // of the split, the same for every seed of a run
  const Hierarchy hierarchy =
      flags.data.empty() ? draw_hierarchy(flags.seed) : read_wordnet_nouns(flags.data);
  trainer.uses_data(hierarchy.source, hierarchy.digest());
  if (!flags.query.empty()) return answer(flags, hierarchy);
  const HypernymSets sets(hierarchy, seed);
  write_result(fmt::format(
      "data: {}; {} concepts, {} pairs to train on, {} for validation, {} for the test, and as "
      "many wrong ones\n",
      hierarchy.source, hierarchy.names.size(), sets.train.size(), sets.validation.positive.size(),
      sets.test.positive.size()));
  return HypernymTraining(flags, hierarchy, sets).train(trainer);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
