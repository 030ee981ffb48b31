#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tapegrad/cluster/cluster.h"
#include "tapegrad/core/machine/profile.h"
#include "tapegrad/nn/net_state.h"
#include "tapegrad/nn/optimizers/ema.h"
#include "tapegrad/train/optimizer_flags.h"
#include "tapegrad/train/probe.h"
#include "tapegrad/train/run.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The update step that all trainers share: one tape per step, gradient clipping, a scheduled
/// learning rate, --check-nan and --probe.
/// Example: `Training run({}, {}, fields(net), 10); run.step([&] { return sum(net(y)); })`
class Training {
 public:
  /// net: its fields   steps: of the whole run
  Training(const OptimizerFlags& optimizer, const RunFlags& run, const Fields& net, Index steps);

  /// Takes one step on the loss that `forward` computes; returns its value. The first step reports
  /// on standard error the net's parameters that the loss does not depend on, and parameters in the
  /// loss that are not among the net's fields. With --dry-run, a step changes nothing, also
  /// reports why gradients of parameters are zero, and throws Error for the latter.
  double step(const std::function<Tensor()>& forward);
  /// Takes one step on a batch of so many rows, together with the other processes of the cluster;
  /// returns the value of the loss.
  ///   loss: see Cluster::gradients   wanted: by this process, then by any
  double step(Cluster& cluster, Index rows, const std::function<Tensor(const Shard& shard)>& loss,
              RunSignals& wanted);
  Optimizer& optimizer() { return *optimizer_; }
  /// Fields that are not trained: the first step does not report them if the loss reads them.
  void carries(const std::function<void(Fields& field)>& carried);
  /// Calls `project` after each update, before averages are taken.
  void after_updates(std::function<void()> project) { project_ = std::move(project); }
  /// Calls `watch` in each step with the gradients as they are before they are clipped.
  void watch_gradients(std::function<void(const std::vector<Tensor>& gradients)> watch) {
    watch_ = std::move(watch);
  }
  /// Whether the next steps measure the norm of their gradients, which takes time.
  void measure_gradient_norm(bool wanted) { measures_norm_ = wanted; }
  /// The norm of all gradients of the last step, before clipping; nothing if it was not measured.
  std::optional<double> gradient_norm() const { return gradient_norm_; }
  /// The averages of --ema and the plateau of --schedule plateau; null without the flag.
  Ema* ema() { return ema_ ? &*ema_ : nullptr; }
  Plateau* plateau() { return plateau_ ? &*plateau_ : nullptr; }
  /// Calls `evaluate` while the parameters have their averages, if --ema is given.
  Metrics averaged(const std::function<Metrics()>& evaluate);
  /// What --keep-best has kept; null without the flag, and before the first `keep`.
  NetState* best() { return best_ ? &*best_ : nullptr; }
  /// Keeps the values that the net has now, if --keep-best is given.
  void keep();
  /// Calls `finish` while the net has the values kept. If there are none, as `averaged` does.
  Metrics at_best(const std::function<Metrics()>& finish);
  /// The records of --probe; null without it.
  const Probe* probe() const { return probe_.get(); }
  /// Keeps the probe records of the run in the checkpoint `resume`. Throws DataError unless the
  /// optimizer has done as many steps as that run.
  ///   began: the step at which the optimizer began, in a fork with another one
  ///   log: the directory of that run's log
  void resume(const std::string& resume, Index steps_done, Index began, const std::string& log);
  /// Examines a step of the run: writes its tape, its trace and its batch to --log-dir (see
  /// `tape_file` and its siblings), and reports on standard error why gradients of parameters are
  /// zero or not finite.
  ///   probes: whether `write_probe` then writes the records of this step alone
  void examine(Index step, bool probes);
  /// Writes the records of --probe so far, if it is given.
  void write_probe() const;
  /// Prints where the time of the steps went, if --profile is given.
  void print_profile() const;

 private:
  // At the first loss: reports parameters that are not listed, and parameters of the net that the
  // loss does not depend on.
  void inspect(const Tensor& loss);
  // Writes what `examine` reports of a step, but the probe's records.
  void write_examined(const Tape& tape) const;
  // Reports why gradients are zero or not finite, if some are, after a sweep for them.
  void explain_zeros(const Tape& tape, const std::vector<Parameter>& parameters) const;
  Index steps_done() const { return began_ + optimizer_->steps(); }
  // Sets the learning rate of the next update.
  void schedule();
  void update(std::vector<Tensor> gradients);

  OptimizerFlags flags_;
  Fields net_, listed_;
  bool check_nan_, dry_run_, keeps_best_;
  std::string directory_;
  Index began_ = 0;
  struct Examined {
    Index step;
    bool probes;
  };
  std::optional<Examined> examined_;
  std::unique_ptr<Optimizer> optimizer_;
  std::function<void()> project_;
  std::function<void(const std::vector<Tensor>& gradients)> watch_;
  bool inspected_ = false, measures_norm_ = false;
  std::optional<double> gradient_norm_;
  Schedule schedule_;
  std::optional<Ema> ema_;
  std::optional<Plateau> plateau_;
  std::optional<NetState> best_;
  std::unique_ptr<Probe> probe_;
  std::optional<Profile> profile_;
};

/// Implements --dry-run: prints the flags with their values, the parameters with their shapes and
/// the names of those that are shared, then takes a step of `Training` on one batch, which changes
/// nothing.
/// Example: `dry_run(flags, fields(net), [] { return 0.7; })`
void dry_run(const Flags& flags, const Fields& net, const std::function<double()>& step);

/// For experiments: Adam at a constant learning rate of 0.001, with a probe that writes no files.
/// Example: `probed_training(fields(net), 10).step([&] { return sum(net(y)); })`
Training probed_training(const Fields& net, Index steps);

}  // namespace tapegrad::TAPEGRAD_SCALAR
