#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tapegrad/core/profile.h"
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

  /// Takes one step on the loss that `forward` computes; returns its value. With --dry-run, changes
  /// nothing, and throws Error for parameters in the loss that are not among the net's fields.
  double step(const std::function<Tensor()>& forward);
  Optimizer& optimizer() { return *optimizer_; }
  /// The records of --probe; null without it.
  const Probe* probe() const { return probe_.get(); }
  /// Keeps the probe records of the run in the checkpoint `resume`. Throws DataError unless the
  /// optimizer has done as many steps as that run.
  void resume(const std::string& resume, Index steps_done);
  /// Writes the records of --probe so far, if it is given.
  void write_probe() const;
  /// Prints where the time of the steps went, if --profile is given.
  void print_profile() const;

 private:
  OptimizerFlags flags_;
  Fields net_;
  bool check_nan_, dry_run_;
  std::string directory_;
  std::unique_ptr<Optimizer> optimizer_;
  Schedule schedule_;
  std::unique_ptr<Probe> probe_;
  std::optional<Profile> profile_;
};

/// Implements --dry-run: prints the flags with their values and the parameters with their shapes,
/// then takes a step of `Training` on one batch, which changes nothing.
/// Example: `dry_run(flags, fields(net), [] { return 0.7; })`
void dry_run(const Flags& flags, const Fields& net, const std::function<double()>& step);

/// For experiments: Adam at a constant learning rate of 0.001, with a probe that writes no files.
/// Example: `probed_training(fields(net), 10).step([&] { return sum(net(y)); })`
Training probed_training(const Fields& net, Index steps);

}  // namespace tapegrad::TAPEGRAD_SCALAR
