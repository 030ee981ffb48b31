#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tapegrad/cluster/cluster.h"
#include "tapegrad/train/metrics.h"
#include "tapegrad/train/run.h"
#include "tapegrad/train/training.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The loss of each step, counted from 0: of its batch as a whole, or of parts of the batch, which
/// --shards and several processes need. The mean loss of an epoch is over the rows of its batches,
/// where these are known, and otherwise over its steps.
///
///     .loss = [&](Index step) { ... }
///     .loss = {batches, [&](const auto& batch) { ... }}
///     .loss = {rows, [&](Index step, const Shard& shard, Random& random) { ... }}
/// Example: `const BatchLoss loss([&](Index) { return sum(net(y)); })`
class BatchLoss {
 public:
  using OfShard = std::function<Tensor(Index step, const Shard& shard, Random& random)>;

  /// loss(step): of the whole batch.
  template <std::invocable<Index> Loss>
  BatchLoss(Loss loss)
      : rows_([](Index) { return Index{1}; }),
        loss_([loss](Index step, const Shard&, Random&) { return loss(step); }),
        has_parts_(false) {}
  /// loss(batch): the mean over the rows of a batch of `batches`, such as `EpochBatches`, which
  /// must outlive it.
  template <class Batches, class Loss>
  requires requires(Batches& batches, Loss loss) {
    { batches.rows(Index{}) } -> std::convertible_to<Index>;
    loss(batches.at(Index{}));
  }
  BatchLoss(Batches& batches, Loss loss)
      : rows_([&batches](Index step) { return batches.rows(step); }),
        loss_(
            [&batches, loss](Index step, const Shard&, Random&) { return loss(batches.at(step)); }),
        has_parts_(false) {}
  /// rows(step): of the batch   loss(step, shard, random): the mean over the rows of a shard, where
  /// `random` is a stream for this step and shard, such as dropout needs.
  BatchLoss(std::function<Index(Index step)> rows, OfShard loss)
      : rows_(std::move(rows)), loss_(std::move(loss)), has_parts_(true) {}

  bool has_parts() const { return has_parts_; }
  Index rows(Index step) const { return rows_(step); }
  Tensor operator()(Index step, const Shard& shard, Random& random) const {
    return loss_(step, shard, random);
  }

 private:
  std::function<Index(Index step)> rows_;
  OfShard loss_;
  bool has_parts_;
};

/// What a program or a study trains. A net, its steps and their loss are enough; the rest is for
/// those that have more to print or to keep.
/// Example: `Learner{.net = fields(net), .steps = {9, 3}, .loss = [&](Index) { return sum(x); }}`
struct Learner {
  Fields net;  ///< fields(net)
  RunSteps steps;
  BatchLoss loss;          ///< one number; --overfit-batch repeats step 0
  std::uint64_t seed = 1;  ///< of the random numbers of shards

  /// Describes data and net: lines to print before the run.
  std::string description = {};
  /// Called at the end of each epoch; returns numbers by name, such as "validation_loss", or
  /// nothing: Metrics().
  std::function<Metrics()> validate = {};
  /// Which of them is best, for --keep-best and --patience.
  ValidationMetric metric = {};
  /// Called after the run; prints the results and returns them for the summary, if any.
  std::function<Metrics()> test = {};

  /// Called after each update, such as to bring parameters back into their bounds.
  std::function<void()> project = {};

  // Other state that the run carries from step to step. Checkpoints keep it.
  /// Streams of random numbers, by name: every Random from which the loss draws and that outlives
  /// the step, such as the one of `training(random)`. With --save and --dry-run, the first step
  /// throws Error for another one. A stream derived from the step needs no entry.
  std::map<std::string, Random*> random = {};
  /// Visits more fields, such as the state of a recurrent net or a net that is not trained.
  std::function<void(Fields& field)> carried = {};
  /// Joins the fields of `carried` for the whole batch, before a checkpoint is written. All
  /// processes call it.
  std::function<void()> gather = {};
  /// Gives the fields of `carried` their shapes after `steps` steps, before a checkpoint is loaded
  /// into them. Needed if shapes change.
  std::function<void(Index steps)> prepare = {};
  /// The program's own notes, by name; `Trainer::resumed_note` reads them.
  std::function<std::map<std::string, std::string>()> notes = {};
};

/// What a study sees of a training. Each member may be empty.
/// Example: `TrainingObserver{.step = [](Index, double loss) { fmt::print("{}\n", loss); }}`
struct TrainingObserver {
  /// Called with the gradients of each step as they are before they are clipped, on its tape.
  std::function<void(Index step, const std::vector<Tensor>& gradients)> gradients = {};
  /// Called after each step.   step: counted from 1   loss: before the update
  std::function<void(Index step, double loss)> step = {};
  /// Called at the end of each epoch.   loss: the mean of the epoch
  /// metrics: what `Learner::validate` returned
  std::function<void(Index step, double loss, const Metrics& metrics)> epoch = {};
};

/// Trains in the loop of `Trainer::train`, but without files, messages and interrupts, for studies.
/// A loss that is not finite does not end it. Returns the best validation, whose values of the net
/// `updates` keeps if its flags have --keep-best; tests are the caller's, as in `at_best`.
///   updates: of the learner's net
/// Throws Error if the learner validates and its metrics lack `Learner::metric`, and ShapeError for
/// a loss that is not one number.
/// Example: `auto best = [](const Learner& one, Training& all) { return train(one, all).value; }`
BestValidation train(const Learner& learner, Training& updates,
                     const TrainingObserver& observer = {});

}  // namespace tapegrad::TAPEGRAD_SCALAR
