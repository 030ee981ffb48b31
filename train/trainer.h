#pragma once

#include <functional>
#include <map>
#include <string>

#include "tapegrad/nn/files/checkpoint.h"
#include "tapegrad/train/optimizer_flags.h"
#include "tapegrad/train/resume.h"
#include "tapegrad/train/run.h"
#include "tapegrad/train/training.h"
#include "tapegrad/train/training_flags.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// What a program trains. A net, its steps and their loss are enough; the rest is for programs that
/// have more to print or to keep.
/// Example: `Task{.net = fields(net), .steps = {9, 3}, .loss = [&](Index) { return sum(net(y)); }}`
struct Task {
  Fields net;  ///< fields(net)
  RunSteps steps;
  /// The loss of a step, counted from 0. --overfit-batch repeats step 0.
  std::function<Tensor(Index step)> loss;

  /// Describes data and net: lines to print before the training.
  std::string description = {};
  /// Called at the end of each epoch; returns metrics by name, such as "validation_loss", or
  /// nothing: Json().
  std::function<Json()> evaluate = {};
  /// Called after the training; prints the results and returns them for the summary, if any.
  std::function<Json(const Run& run)> finish = {};

  // Other state that the training carries from step to step. Checkpoints keep it.
  /// Streams of random numbers, by name: every Random from which the loss draws and that outlives
  /// the step, such as that of `training(random)`. With --save and --dry-run, the first step throws
  /// Error for another one. A stream derived from the step needs no entry.
  std::map<std::string, Random*> random = {};
  /// Visits more fields, such as the state of a recurrent net or a net that is not trained.
  std::function<void(Fields& field)> carried = {};
  /// Gives the fields of `carried` their shapes after `steps` steps, before a checkpoint is loaded
  /// into them. Needed if shapes change.
  std::function<void(Index steps)> prepare = {};
  /// The program's own notes, by name; `Trainer::resumed_note` reads them.
  std::function<std::map<std::string, std::string>()> notes = {};
};

/// Implements the flags common to all training programs: --resume restores the flags of a
/// checkpoint, --dry-run and --overfit-batch test a training beforehand, --log-dir, --save and
/// Ctrl-C act during it.
/// Example: `Trainer trainer(flags); trainer.resumes()`
class Trainer {
 public:
  /// Construct it before data and net, which depend on flags that --resume may set. Throws
  /// DataError and CLI::ValidationError for flags that conflict with each other or with the
  /// checkpoint.
  Trainer(Flags& flags, const RunFlags& run, const OptimizerFlags& optimizer);
  explicit Trainer(TrainingFlags& flags) : Trainer(flags, flags.run_flags, flags.optimizer) {}

  bool resumes() const { return !run_.resume.empty(); }
  /// The parsed note of the checkpoint to resume; see `parsed_note`.
  template <class Parse>
  auto resumed_note(const std::string& name, const Parse& parse) const {
    return parsed_note(resumed_, name, run_.resume, parse);
  }
  /// Identifies the data in checkpoints. Throws CLI::ValidationError if the resumed training used
  /// other data. `source` is shown to the user, `digest` differs for other data.
  void uses_data(const std::string& source, const std::string& digest);
  /// Logs to this directory instead of --log-dir.
  void log_to(const std::string& directory) { run_.log_dir = directory; }

  /// Trains. Returns the exit code of the program: `exit_interrupted` after Ctrl-C, otherwise 0.
  /// Throws DataError for files that cannot be read or written, Error for a non-finite loss.
  int train(const Task& task) const;

 private:
  void resume(const Task& task, Training& updates, Index steps_done) const;
  Checkpoint checkpoint(const Task& task, Training& updates) const;

  const Flags& flags_;
  std::map<std::string, std::string> resumed_;  // notes of the resumed checkpoint
  RunFlags run_;
  OptimizerFlags optimizer_;
  std::string data_;  // the digest of the data
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
