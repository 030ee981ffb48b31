#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tapegrad/nn/optimizers/optimizer.h"
#include "tapegrad/nn/optimizers/schedule.h"
#include "tapegrad/train/flags.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The flags that choose how weights are updated.
/// Example: `OptimizerFlags{.optimizer = "adamw"}.make_optimizer(parameters(net))`
struct OptimizerFlags {
  std::string optimizer = "adam";
  std::string schedule = "cosine";
  double learning_rate = 1e-3;
  double final_rate = 0;
  Index warmup = 0;
  double beta2 = 0.999;
  double weight_decay = 0;
  double clip_norm = 0;

  void add_to(Flags& flags);
  /// Throws CLI::ValidationError for a given flag that has no effect because of another flag.
  void check(const Flags& given) const;
  std::unique_ptr<Optimizer> make_optimizer(const std::vector<Parameter>& parameters) const;
  /// The learning rate at each of `steps` steps.
  Schedule make_schedule(Index steps) const;
  /// Gradients, scaled down to --clip-norm if it is given and they exceed it.
  std::vector<Tensor> clipped(std::vector<Tensor> gradients) const;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
