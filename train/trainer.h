#pragma once

#include <map>
#include <memory>
#include <string>

#include "tapegrad/cluster/cluster.h"
#include "tapegrad/nn/checkpoint.h"
#include "tapegrad/train/learner.h"
#include "tapegrad/train/resume.h"
#include "tapegrad/train/training_flags.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Implements the flags common to all training programs: --resume restores the flags of a
/// checkpoint, --dry-run and --overfit-batch test a run beforehand, --log-dir, --save and
/// Ctrl-C act during it, --rewind and --fork go back to one of its steps. Started by mpirun or
/// srun, the processes train together: each takes its share of the shards of a batch, and the first
/// prints, logs and saves.
/// Example: `flags.run(argc, argv, [&](Trainer& trainer) { return trainer.resumes() ? 0 : 1; })`
class Trainer {
 public:
  /// Whether it continues from a checkpoint: of --resume, or one that --rewind and --fork need.
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
  /// otherwise 0. Throws DataError for files that cannot be read or written, ShapeError for a loss
  /// that is not one number, NonFiniteError for a loss that is not finite, and for such weights
  /// before they would replace a checkpoint.
  int train(const Learner& learner);
  /// The run of `train`, for the functions of its learner. Throws Error before and after it.
  const Run& run() const;

 private:
  friend struct TrainerFlags;  // makes it before data and net, whose flags --resume may set
  explicit Trainer(TrainerFlags& flags);

  void expect_same_on_all(const std::string& begins_with) const;
  void expect_trainable(const Learner& learner) const;
  void expect_of_its_step(Index steps_done) const;
  void resume(const Learner& learner, Training& updates, RunState& state) const;
  // Begins a fork with what fits of its checkpoint; reports the rest.
  void begin_fork(Checkpoint& into, Training& updates, RunState& state) const;
  // Prints what --rewind has found. Returns the exit code of the program.
  int report_rewound(Run& run, const Training& updates) const;
  Checkpoint checkpoint(const Learner& learner, Training& updates) const;

  const Flags& flags_;
  std::optional<PastRun> past_;                 // of --rewind and --fork
  std::map<std::string, std::string> resumed_;  // notes of the resumed checkpoint
  std::unique_ptr<Cluster> cluster_;
  RunFlags run_;
  OptimizerFlags optimizer_;
  const Run* current_ = nullptr;             // while `train` runs
  std::map<std::string, std::string> data_;  // digests of the data, by the names of their notes
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
