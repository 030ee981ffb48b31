#include "tapegrad/train/optimizer_flags.h"

#include <algorithm>
#include <cmath>

#include "tapegrad/nn/optimizers/gradients.h"

namespace tapegrad::TAPEGRAD_SCALAR {

void OptimizerFlags::add_to(Flags& flags) {
  flags.training("--optimizer", optimizer, "Optimizer")
      ->check(CLI::IsMember({"sgd", "momentum", "nesterov", "adam", "adamw", "rmsprop"}));
  flags.training("--lr", learning_rate, "Peak learning rate")->check(positive());
  flags
      .training("--schedule", schedule,
                "Learning rate schedule: cosine rises for --warmup steps, then falls to "
                "--final-lr; warmup rises for a tenth of the steps, then falls as 1 / sqrt(step); "
                "step falls tenfold after each third; exponential falls a hundredfold in all")
      ->check(CLI::IsMember({"constant", "cosine", "warmup", "step", "exponential"}));
  flags.training("--final-lr", final_rate, "Final learning rate of cosine")->check(not_negative());
  flags.training("--warmup", warmup, "Warmup steps before cosine, at most half of all")
      ->check(not_negative());
  flags.training("--beta2", beta2, "Decay of the mean square of adam and adamw")
      ->check(between(0.0, 0.9999999));
  flags.training("--weight-decay", weight_decay, "Weight decay (adamw: decoupled, matrices only)")
      ->check(not_negative());
  flags.training("--clip-norm", clip_norm, "Limit of the gradients' global norm; 0: none")
      ->check(not_negative());
}

void OptimizerFlags::check(const Flags& given) const {
  const auto expect_effect = [&](const char* flag, bool has_effect, const std::string& other) {
    if (given.given(flag) && !has_effect)
      throw CLI::ValidationError(flag, fmt::format("has no effect with {}; leave it out", other));
  };
  const bool is_adam = optimizer == "adam" || optimizer == "adamw";
  expect_effect("--warmup", schedule == "cosine", "--schedule " + schedule);
  expect_effect("--final-lr", schedule == "cosine", "--schedule " + schedule);
  expect_effect("--beta2", is_adam, "--optimizer " + optimizer);
}

std::unique_ptr<Optimizer> OptimizerFlags::make_optimizer(
    const std::vector<Parameter>& parameters) const {
  if (optimizer == "adam")
    return std::make_unique<Adam>(
        parameters,
        AdamOptions{.learning_rate = learning_rate, .beta2 = beta2, .weight_decay = weight_decay});
  if (optimizer == "adamw")
    return std::make_unique<AdamW>(parameters, AdamWOptions{.learning_rate = learning_rate,
                                                            .beta2 = beta2,
                                                            .weight_decay = weight_decay,
                                                            .matrices_only = true});
  if (optimizer == "rmsprop")
    return std::make_unique<RmsProp>(
        parameters, RmsPropOptions{.learning_rate = learning_rate, .weight_decay = weight_decay});
  return std::make_unique<Sgd>(parameters, SgdOptions{.learning_rate = learning_rate,
                                                      .momentum = optimizer == "sgd" ? 0 : 0.9,
                                                      .nesterov = optimizer == "nesterov",
                                                      .weight_decay = weight_decay});
}

Schedule OptimizerFlags::make_schedule(Index steps) const {
  if (schedule == "cosine")
    return cosine(learning_rate, steps, final_rate, std::min(warmup, steps / 2));
  if (schedule == "warmup")
    return warmup_inverse_sqrt(learning_rate, std::max<Index>(1, steps / 10));
  if (schedule == "step") return step_decay(learning_rate, std::max<Index>(1, (steps + 2) / 3));
  if (schedule == "exponential")
    return exponential(learning_rate, std::pow(0.01, 1 / static_cast<double>(steps)));
  return constant(learning_rate);
}

std::vector<Tensor> OptimizerFlags::clipped(std::vector<Tensor> gradients) const {
  if (clip_norm > 0) clip_by_global_norm(gradients, clip_norm);
  return gradients;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
