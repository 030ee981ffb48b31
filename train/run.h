#pragma once

#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "tapegrad/nn/files/checkpoint.h"
#include "tapegrad/nn/optimizers/optimizer.h"
#include "tapegrad/train/flags.h"
#include "tapegrad/train/interrupt.h"
#include "tapegrad/train/metrics.h"
#include "tapegrad/train/progress.h"
#include "tapegrad/train/run_log.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The exit code of a program that SIGINT, SIGTERM or SIGHUP has ended.
constexpr int exit_interrupted = 130;

/// The flags of every training program that leave its result alone.
struct RunFlags {
  int threads = 0;
  std::string log_dir, save, save_every, resume;
  bool quiet = false, dry_run = false, overfit_batch = false, check_nan = false, probe = false,
       profile = false;

  void add_to(Flags& flags);
};

/// The steps of a training run.
struct RunSteps {
  Index total;
  Index per_epoch;        ///< or between two reports, of a training that counts steps
  bool in_epochs = true;  ///< or in steps: how a report says where the run is

  static RunSteps epochs(Index count, Index per_epoch) {
    return {.total = count * per_epoch, .per_epoch = per_epoch};
  }

  /// Steps between two rows of the log with the training loss.
  Index per_row() const;
};

/// How far a run has come. Its checkpoints note it, so that a run that resumes it goes on as if it
/// had never stopped.
struct RunState {
  Index steps = 0;
  RunningMean epoch_loss = {};  ///< of the current epoch, or at its end of the last
  RunningMean row_loss = {};    ///< since the last row of the log

  std::map<std::string, std::string> notes() const;
};

/// The state in the notes of the checkpoint `resume`; that of a new run if there are none. Throws
/// DataError, naming the note, for a state that such a run does not come to.
RunState resumed_state(const std::map<std::string, std::string>& notes, const std::string& resume,
                       const RunSteps& steps);

/// When --save-every asks for a checkpoint: after so many steps or so much time.
struct SaveInterval {
  Index steps = std::numeric_limits<Index>::max();
  double seconds = std::numeric_limits<double>::infinity();
};

/// A training run as its user sees it: progress, the log, checkpoints and Ctrl-C. Once it runs, a
/// log or a checkpoint that cannot be written does not end it: that is told, and tried again.
class Run {
 public:
  Run(const RunFlags& flags, const Json& configuration, const RunSteps& steps,
      const RunState& state);

  /// Adds to what is saved after each report, by --save-every and at the end.
  void saves(std::function<void()> write);
  /// The same with what `make` gives, if there is --save; adds the state of the run to its notes.
  /// Throws DataError, before the training, for a file that cannot be written.
  void saves_checkpoint(std::function<Checkpoint()> make);

  /// After every optimizer step. Throws Error for a loss that is not finite.
  void step(double loss, double learning_rate);
  /// At the end of an epoch: logs and tells `metrics` beside the mean loss of the epoch.
  void report(const Json& metrics);
  /// Logs the summary: the state of the run and `results`. A run that has done no step leaves the
  /// log as it is. Throws DataError for what still cannot be written.
  void finish(const Json& results);
  /// The end of a run that was interrupted: saves it. Throws DataError.
  void stop();

  /// How many epochs are complete, and how many steps of the next are done.
  Index epoch() const { return state_.steps / steps_.per_epoch; }
  Index step_of_epoch() const { return state_.steps % steps_.per_epoch; }
  Index steps_done() const { return state_.steps; }
  /// Whether all steps are done, or a signal asks to stop.
  bool over() const { return state_.steps == steps_.total || interrupted(); }
  bool interrupted() const { return interrupt_.requested(); }
  /// Of training; a run that resumes another counts on from the last row in its log.
  double seconds() const { return log_.seconds_before() + progress_.seconds(); }
  /// Of this run alone.
  double steps_per_second() const;

 private:
  using Writes = std::vector<std::function<void()>>;
  void log(const std::function<void()>& write);
  void save();
  // At the end of the run: `writes`, and what the last attempt has not written. Throws DataError.
  void write_rest(Writes writes);

  RunSteps steps_;
  RunState state_;
  Index first_step_;
  std::string save_path_;
  RunLog log_;
  std::string log_failure_;  // of the last attempt to log
  SaveInterval save_every_;
  Writes saves_;
  Index saved_step_;  // at the last save
  Index tried_step_;  // at the last attempt to save
  double tried_seconds_ = 0;
  Progress progress_;
  Interrupt interrupt_;
};

/// What --overfit-batch does: steps on one batch until its loss is below 0.01. Throws Error if it
/// is not when the run is over.
void overfit(Run& run, const Optimizer& optimizer, const std::function<double()>& step);

}  // namespace tapegrad::TAPEGRAD_SCALAR
