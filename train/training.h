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

/// The updates of a net, as every trainer makes them: one tape a step, clipped gradients, a rate
/// that follows the schedule, and what --check-nan and --probe look at.
class Training {
 public:
  /// net: its fields   steps: of the whole run
  Training(const OptimizerFlags& optimizer, const RunFlags& run, const Fields& net, Index steps);

  /// One step on the loss that `forward` computes; returns its value. With --dry-run changes
  /// nothing, and throws Error for parameters in the loss that are not among the net's fields.
  double step(const std::function<Tensor()>& forward);
  Optimizer& optimizer() { return *optimizer_; }
  /// What --probe has seen; null without it.
  const Probe* probe() const { return probe_.get(); }
  /// Keeps what the run in the checkpoint `resume` has probed. Throws DataError unless its
  /// optimizer has done as many steps as that run.
  void resume(const std::string& resume, Index steps_done);
  /// Writes what --probe has seen so far, if it is given.
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

/// What --dry-run does: prints the flags with their values and the parameters with their shapes,
/// then takes a step of `Training` on one batch, which changes nothing.
void dry_run(const Flags& flags, const Fields& net, const std::function<double()>& step);

/// For experiments: Adam at a constant rate of 0.001, with a probe that writes no files.
Training probed_training(const Fields& net, Index steps);

}  // namespace tapegrad::TAPEGRAD_SCALAR
