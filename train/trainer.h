#pragma once

#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "tapegrad/cluster/cluster.h"
#include "tapegrad/nn/checkpoint.h"
#include "tapegrad/train/optimizer_flags.h"
#include "tapegrad/train/resume.h"
#include "tapegrad/train/run.h"
#include "tapegrad/train/training.h"
#include "tapegrad/train/training_flags.h"

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

/// What a program trains. A net, its steps and their loss are enough; the rest is for programs that
/// have more to print or to keep.
/// Example: `Task{.net = fields(net), .steps = {9, 3}, .loss = [&](Index) { return sum(net(y)); }}`
struct Task {
  Fields net;  ///< fields(net)
  RunSteps steps;
  BatchLoss loss;          ///< --overfit-batch repeats step 0
  std::uint64_t seed = 1;  ///< of the random numbers of shards

  /// Describes data and net: lines to print before the run.
  std::string description = {};
  /// Called at the end of each epoch; returns metrics by name, such as "validation_loss", or
  /// nothing: Json().
  std::function<Json()> evaluate = {};
  /// Which of them is best, for --keep-best and --patience.
  ValidationMetric metric = {};
  /// Called after the run; prints the results and returns them for the summary, if any.
  std::function<Json(const Run& run)> finish = {};

  /// Called after each update, such as to bring parameters back into their bounds.
  std::function<void()> project = {};

  // Other state that the run carries from step to step. Checkpoints keep it.
  /// Streams of random numbers, by name: every Random from which the loss draws and that outlives
  /// the step, such as that of `training(random)`. With --save and --dry-run, the first step throws
  /// Error for another one. A stream derived from the step needs no entry.
  std::map<std::string, Random*> random = {};
  /// Visits more fields, such as the state of a recurrent net or a net that is not trained.
  std::function<void(Fields& field)> carried = {};
  /// Makes the fields of `carried` those of the whole batch, before a checkpoint is written. All
  /// processes call it.
  std::function<void()> gather = {};
  /// Gives the fields of `carried` their shapes after `steps` steps, before a checkpoint is loaded
  /// into them. Needed if shapes change.
  std::function<void(Index steps)> prepare = {};
  /// The program's own notes, by name; `Trainer::resumed_note` reads them.
  std::function<std::map<std::string, std::string>()> notes = {};
};

/// Implements the flags common to all training programs: --resume restores the flags of a
/// checkpoint, --dry-run and --overfit-batch test a run beforehand, --log-dir, --save and
/// Ctrl-C act during it, --rewind and --fork go back to one of its steps. Started by mpirun or
/// srun, the processes train together: each takes its share of the shards of a batch, and the first
/// prints, logs and saves.
/// Example: `Trainer trainer(flags); trainer.resumes()`
class Trainer {
 public:
  /// Construct it before data and net, which depend on flags that --resume may set. Throws
  /// DataError and FlagError for flags that conflict with each other or with the
  /// checkpoint.
  Trainer(Flags& flags, RunFlags& run, const OptimizerFlags& optimizer);
  explicit Trainer(TrainingFlags& flags) : Trainer(flags, flags.run_flags, flags.optimizer) {}

  /// Whether it continues from a checkpoint: that of --resume, or one that --rewind and --fork
  /// need.
  bool resumes() const { return !run_.resume.empty(); }
  /// The parsed note of the checkpoint to resume; see `parsed_note`.
  template <class Parse>
  auto resumed_note(const std::string& name, const Parse& parse) const {
    return parsed_note(resumed_, name, run_.resume, parse);
  }
  /// Identifies data in checkpoints; call it for each file that shapes the run, in one order.
  /// Throws FlagError if the resumed run used other data. `source` is shown to the
  /// user, `digest` differs for other data: the flag that names the file is a `Flags::setting`, so
  /// that the file may move.
  void uses_data(const std::string& source, const std::string& digest);
  /// The processes that train together; alone, the only one.
  Cluster& cluster() const { return *cluster_; }
  /// Logs to this directory instead of --log-dir.
  void log_to(const std::string& directory) { run_.log_dir = directory; }

  /// Trains. With --keep-best, the net then has its best weights. Returns the exit code of the
  /// program: `exit_interrupted` after Ctrl-C, 1 if --rewind did not find the losses of the log,
  /// otherwise 0. Throws DataError for files that cannot
  /// be read or written, NonFiniteError for a loss that is not finite, and for such weights before
  /// they would replace a checkpoint.
  int train(const Task& task) const;

 private:
  void expect_same_on_all(const std::string& begins_with) const;
  void expect_trainable(const Task& task) const;
  void expect_of_its_step(Index steps_done) const;
  void resume(const Task& task, Training& updates, RunState& state) const;
  // Begins a fork with what fits of its checkpoint; reports the rest.
  void begin_fork(Checkpoint& into, Training& updates, RunState& state) const;
  // Prints what --rewind has found. Returns the exit code of the program.
  int report_rewound(Run& run, const Training& updates) const;
  Checkpoint checkpoint(const Task& task, Training& updates) const;

  const Flags& flags_;
  std::optional<PastRun> past_;                 // of --rewind and --fork
  std::map<std::string, std::string> resumed_;  // notes of the resumed checkpoint
  std::unique_ptr<Cluster> cluster_;
  RunFlags run_;
  OptimizerFlags optimizer_;
  std::map<std::string, std::string> data_;  // digests of the data, by the names of their notes
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
