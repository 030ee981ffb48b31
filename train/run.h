#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tapegrad/cluster/cluster.h"
#include "tapegrad/nn/checkpoint.h"
#include "tapegrad/nn/metrics.h"
#include "tapegrad/train/interrupt.h"
#include "tapegrad/train/metrics.h"
#include "tapegrad/train/past_run.h"
#include "tapegrad/train/progress.h"
#include "tapegrad/train/run_flags.h"
#include "tapegrad/train/run_log.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The exit code of a program that a signal has stopped; see `Interrupt`.
constexpr int exit_interrupted = 130;

/// The steps of a training run.
/// Example: `RunSteps::epochs(flags.epochs, 100).total`
struct RunSteps {
  Index total;
  Index per_epoch;        ///< or between two reports, if the run counts steps
  bool in_epochs = true;  ///< whether reports count in epochs or in steps

  static RunSteps epochs(Index count, Index per_epoch) {
    return {.total = count * per_epoch, .per_epoch = per_epoch};
  }

  /// The number of steps between two rows of the log with the training loss.
  Index per_row() const;
};

/// The metric of a validation by which --keep-best and --patience judge.
/// Example: `const ValidationMetric by{.name = "validation_accuracy", .higher_is_better = true}`
struct ValidationMetric {
  std::string name = "validation_loss";
  bool higher_is_better = false;

  /// Its value among the metrics of a validation. Throws Error if they lack it.
  double of(const Metrics& metrics) const;
};

/// The best validation of a run so far; the first of equal ones.
/// Example: `BestValidation best; best.next(0.7, 100, {}); best.failed`
struct BestValidation {
  std::optional<double> value = {};  ///< nothing before the first
  Index step = 0;                    ///< the steps done by then
  Index failed = 0;                  ///< how many have come since, none of them better

  /// Judges one more validation, after `steps` steps; returns whether it is the best. One that is
  /// not finite never is.
  bool next(double found, Index steps, const ValidationMetric& metric);
};

/// How far a run has come. Checkpoints keep it, so that a resumed run continues as if it had never
/// stopped.
/// Example: `RunState{.steps = 200}.notes()`
struct RunState {
  Index steps = 0;
  // Means over the rows of batches.
  RunningMean epoch_loss = {};  ///< of the current epoch, or at its end, of the last
  RunningMean row_loss = {};    ///< since the last row of the log
  /// The step at which the run was extended or forked, while a mean begins there.
  std::optional<Index> extended_at = {};
  Index optimizer_began = 0;  ///< the step of a fork with another optimizer
  BestValidation best = {};   ///< with --keep-best or --patience

  std::map<std::string, std::string> notes() const;
};

/// What a step of the run has measured.
/// Example: `run.step({.loss = 0.7, .learning_rate = 1e-3, .gradient_norm = 0.2})`
struct StepResult {
  double loss;  ///< the mean over the rows
  double learning_rate;
  std::optional<double> gradient_norm = {};  ///< of all gradients together, before clipping
  Index rows = 1;                            ///< of the batch: the weight of its loss in means
};

/// What a process wants after a step. All processes of a run do what one of them wants.
/// Example: `const RunSignals wanted = run.signals()`
struct RunSignals {
  bool stop = false;  ///< after Ctrl-C or another signal; see `Interrupt`
  bool save = false;  ///< by --save-every
};

/// The state in the notes of the checkpoint `resume`; without notes, the state of a new run. The
/// means of a run that is extended now begin anew, since its epochs and rows may end elsewhere than
/// before. Throws DataError, naming the note, for a state that such a run cannot reach.
/// Example: `resumed_state({}, "", RunSteps::epochs(2, 100), false).steps`
RunState resumed_state(const std::map<std::string, std::string>& notes, const std::string& resume,
                       const RunSteps& steps, bool extended);

/// The user's side of a training run: progress, log, checkpoints and Ctrl-C. A running training
/// survives a log or checkpoint that cannot be written: it warns and tries again later. Weights or
/// moments that are not finite end it with NonFiniteError instead, and the last checkpoint stays.
/// Of several processes, the first writes for all; the others keep count.
/// Example: `run.step({.loss = 0.7, .learning_rate = 1e-3, .gradient_norm = 2}); run.steps_done()`
class Run {
 public:
  /// cluster: its processes, if there may be several
  /// Throws FlagError while another run writes to --log-dir or --save, and if --save names what
  /// another run has written since the flags were read.
  Run(const RunFlags& flags, const Json& configuration, const RunSteps& steps,
      const RunState& state, const Cluster* cluster = nullptr);

  /// Registers what all processes do together before a save.
  void before_saves(std::function<void()> prepare) { before_saves_ = std::move(prepare); }
  /// Registers `write` to run after each report, by --save-every and at the end.
  void saves(std::function<void()> write);
  /// Registers the checkpoint that `make` returns, for --save and --keep-every; the state of the
  /// run is added to its notes. Throws DataError now, before the run, if the file of --save
  /// cannot be written, and if --keep-every would replace what no run has written.
  void saves_checkpoint(std::function<Checkpoint()> make);
  /// Keeps the checkpoint in --log-dir under the current step. Throws DataError if it cannot be
  /// written.
  void keep();

  /// What this process wants after its current step.
  RunSignals signals() const;
  /// Whether the norm of the gradients of the next step is wanted: if it ends a row of the log, or
  /// the run.
  bool next_needs_norm() const {
    return (state_.steps + 1) % steps_.per_row() == 0 || state_.steps + 1 == last_step_;
  }
  /// Call after every optimizer step. wanted: by any process. Throws NonFiniteError for a loss that
  /// is not finite.
  void step(const StepResult& result, const RunSignals& wanted);
  void step(const StepResult& result) { step(result, signals()); }
  /// Call at the end of an epoch, before `report`. Judges `metrics` by `metric` if --keep-best or
  /// --patience is given; returns whether it is then the best validation so far. Throws Error if
  /// the metrics lack it.
  bool judge(const Metrics& metrics, const ValidationMetric& metric);
  /// Call at the end of an epoch. Logs and prints `metrics` and the mean loss of the epoch.
  void report(const Metrics& metrics);
  /// Call after the last step. Prints whether --patience ended the run, and which validation was
  /// the best, if any were judged; returns that for the summary.
  Metrics tell_best(const ValidationMetric& metric);
  /// Logs the summary: the state of the run and `results`. A run without steps leaves the log
  /// unchanged. Throws DataError for what still cannot be written.
  void finish(const Metrics& results);
  /// Ends an interrupted run: saves it. Throws DataError.
  void stop();

  /// The number of complete epochs, and the number of steps done in the next.
  Index epoch() const { return state_.steps / steps_.per_epoch; }
  Index step_of_epoch() const { return state_.steps % steps_.per_epoch; }
  Index steps_done() const { return state_.steps; }
  const StepResult& last() const { return last_; }
  /// With --rewind, how far the rows equal the rows of the log; without the last step if --probe
  /// is added.
  const Replay& replay() const { return *replay_; }
  /// The mean training loss of the current epoch, or at its end, of the last.
  double epoch_loss() const { return state_.epoch_loss.value(); }
  /// Whether all steps are done, --patience is exhausted or a signal asked to stop.
  bool over() const { return state_.steps >= last_step_ || out_of_patience() || interrupted(); }
  bool out_of_patience() const { return patience_ > 0 && state_.best.failed >= patience_; }
  bool interrupted() const { return alone_ ? interrupt_.requested() : stopped_; }
  /// The time spent training. A resumed run continues from the last row of the log.
  double seconds() const { return log_.seconds_before() + progress_.seconds(); }
  /// The rate of this run alone.
  double steps_per_second() const;

 private:
  using Writes = std::vector<std::function<void()>>;
  // "epoch 3/20" or "step 300/2000"
  std::string count(Index steps) const;
  void log(const std::function<void()>& write);
  void log_row(const Metrics& row);
  void keep_if_due();
  void save();
  void write_checkpoint(const std::string& path) const;
  // At the end of the run: does `writes`, and what the last attempt did not write. Throws
  // DataError.
  void write_rest(Writes writes);

  RunSteps steps_;
  RunState state_;
  Index last_step_;  // of all, or the step of --rewind
  StepResult last_{};
  bool keeps_best_;
  Index patience_;
  bool alone_, writes_;   // whether this is the only process, or the one that writes
  bool stopped_ = false;  // because a process wants it
  Index first_step_;
  std::string save_path_;  // of the process that writes
  std::optional<FileLock> save_lock_;
  std::string log_directory_;  // of the process that writes, or of the run that --rewind repeats
  Index keep_every_;
  RunLog log_;
  std::optional<Replay> replay_;
  std::string log_failure_;  // of the last attempt to log
  SaveInterval save_every_;
  std::function<void()> before_saves_ = [] {};
  std::function<Checkpoint()> make_checkpoint_;
  Writes saves_;
  Index saved_step_;  // at the last save
  Index tried_step_;  // at the last attempt to save
  double tried_seconds_ = 0;
  Progress progress_;
  Interrupt interrupt_;
};

/// Implements --overfit-batch: takes steps of the run on one batch until the loss, which `step`
/// returns, is below 0.01. Throws Error if the run ends before.
/// Example: `overfit(run, [&] { run.step({0.001, 0.1}); return 0.001; })`
void overfit(Run& run, const std::function<double()>& step);

}  // namespace tapegrad::TAPEGRAD_SCALAR
