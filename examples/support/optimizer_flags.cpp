#include "support/optimizer_flags.h"

#include "tapegrad/nn/clip.h"

namespace tapegrad::support {

void OptimizerFlags::add_to(Flags& flags) {
  flags.training("--optimizer", optimizer, "Rule of the updates")
      ->check(CLI::IsMember({"sgd", "momentum", "nesterov", "adam", "adamw", "rmsprop"}));
  flags.training("--lr", rate, "Learning rate, at its highest")->check(CLI::PositiveNumber);
  flags.training("--schedule", schedule, "How the learning rate changes over the training")
      ->check(CLI::IsMember({"constant", "cosine", "warmup", "step", "exponential"}));
  flags.training("--weight-decay", weight_decay, "Weight decay (for adamw decoupled)")
      ->check(CLI::NonNegativeNumber);
  flags.training("--clip-norm", clip_norm, "Limit of the gradients' global norm; 0: none")
      ->check(CLI::NonNegativeNumber);
}

std::unique_ptr<Optimizer> OptimizerFlags::make_optimizer(
    const std::vector<Parameter>& parameters) const {
  if (optimizer == "adam")
    return std::make_unique<Adam>(parameters,
                                  AdamOptions{.rate = rate, .weight_decay = weight_decay});
  if (optimizer == "adamw")
    return std::make_unique<AdamW>(parameters,
                                   AdamWOptions{.rate = rate, .weight_decay = weight_decay});
  if (optimizer == "rmsprop")
    return std::make_unique<RmsProp>(parameters,
                                     RmsPropOptions{.rate = rate, .weight_decay = weight_decay});
  return std::make_unique<Sgd>(parameters, SgdOptions{.rate = rate,
                                                      .momentum = optimizer == "sgd" ? 0 : 0.9,
                                                      .nesterov = optimizer == "nesterov",
                                                      .weight_decay = weight_decay});
}

std::vector<Tensor> OptimizerFlags::clipped(std::vector<Tensor> gradients) const {
  if (clip_norm > 0) clip_by_global_norm(gradients, clip_norm);
  return gradients;
}

}  // namespace tapegrad::support
