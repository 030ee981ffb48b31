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

/// What a program trains. A net, its steps and their loss are enough; the rest is there for
/// programs that have more to tell or to keep.
struct Task {
  Fields net;  ///< fields(net)
  RunSteps steps;
  /// The loss of a step, counted from 0. --overfit-batch asks for step 0 again and again.
  std::function<Tensor(Index step)> loss;

  /// Of data and net, for people: lines that are printed before the training.
  std::string description = {};
  /// At the end of each epoch: metrics by name, such as "validation_loss".
  std::function<Json()> evaluate = {};
  /// After the training: prints what has come out, and returns it for the summary.
  std::function<Json(const Run& run)> finish = {};

  // What the training carries from step to step besides. Checkpoints keep it.
  std::map<std::string, Random*> random = {};  ///< streams of random numbers, by name
  /// Enters fields, such as the state of a recurrent net or a net that is not trained.
  std::function<void(Fields& field)> carried = {};
  /// Gives the fields of `carried` the shapes that they have after `steps` steps, before they are
  /// read from a checkpoint. Needed where shapes change.
  std::function<void(Index steps)> prepare = {};
  /// Notes of the program's own, by name; `Trainer::resumed_note` finds them again.
  std::function<std::map<std::string, std::string>()> notes = {};
};

/// What every training program does with its flags: --resume takes over the flags of a checkpoint,
/// --dry-run and --overfit-batch look before the training, --log-dir, --save and Ctrl-C go with it.
class Trainer {
 public:
  /// To be made before data and net, which depend on flags that --resume may set. Throws DataError
  /// and CLI::ValidationError for flags that do not go together, or not with the checkpoint.
  Trainer(Flags& flags, const RunFlags& run, const OptimizerFlags& optimizer);
  explicit Trainer(TrainingFlags& flags) : Trainer(flags, flags.run_flags, flags.optimizer) {}

  bool resumes() const { return !run_.resume.empty(); }
  /// What `parse` makes of a note of the checkpoint that is resumed; see `parsed_note`.
  template <class Parse>
  auto resumed_note(const std::string& name, const Parse& parse) const {
    return parsed_note(resumed_, name, run_.resume, parse);
  }
  /// Notes in checkpoints which data these are. Throws CLI::ValidationError for others than those
  /// of the training that is resumed. source: for people   digest: differs for other data
  void uses_data(const std::string& source, const std::string& digest);
  /// Logs to another directory than that of --log-dir.
  void log_to(const std::string& directory) { run_.log_dir = directory; }

  /// Trains. Returns the exit code of the program: `exit_interrupted` after Ctrl-C, otherwise 0.
  /// Throws DataError for files that cannot be read or written, Error for a loss that is not
  /// finite.
  int train(const Task& task) const;

 private:
  void resume(const Task& task, Training& updates, Index steps_done) const;
  Checkpoint checkpoint(const Task& task, Training& updates) const;

  const Flags& flags_;
  std::map<std::string, std::string> resumed_;  // of the checkpoint that is resumed
  RunFlags run_;
  OptimizerFlags optimizer_;
  std::string data_;  // their digest
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
