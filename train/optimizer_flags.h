#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tapegrad/nn/optimizers/optimizer.h"
#include "tapegrad/nn/optimizers/schedule.h"
#include "tapegrad/train/flags.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The schedule that depends on a measure; see `Plateau`.
constexpr const char* plateau_name = "plateau";

/// The flags that choose how weights are updated.
/// Example: `OptimizerFlags{.optimizer = "adamw"}.make_optimizer(parameters(net))`
struct OptimizerFlags {
  std::string optimizer = "adam";   ///< with options: "lion:beta1=0.95,beta2=0.98"
  std::string schedule = "cosine";  ///< or a sequence: "constant,cosine@100"
  double learning_rate = 1e-3;
  double final_rate = 0;
  Index warmup = 0;
  double beta2 = 0.999;
  double weight_decay = 0;
  double clip_norm = 0;
  double clip_each = 0;
  double ema = 0;  ///< decay of the averaged weights; 0: none

  void add_to(Flags& flags);
  /// Throws FlagError for a given flag that has no effect because of another flag.
  void check(const Flags& given) const;
  /// Throws ArgumentError for names and options that do not exist, and for values out of range.
  std::unique_ptr<Optimizer> make_optimizer(const std::vector<Parameter>& parameters) const;
  /// The learning rate at each of `steps` steps. The rate of a plateau is constant here.
  Schedule make_schedule(Index steps) const;
  /// Whether the learning rate of a step depends on the number of steps.
  bool depends_on_length() const;
  /// Gradients, each scaled down to --clip-each, then all together to --clip-norm, where given.
  std::vector<Tensor> clipped(std::vector<Tensor> gradients) const;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
