#pragma once

#include "tapegrad/nn/optimizers/optimizer.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct LambOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  double weight_decay = 0;                       ///< added to the direction, times the parameter
  Centering center_gradients = Centering::none;  ///< of matrices and filters
  Centering center_weights = Centering::none;    ///< of matrices and filters, after each step
};
/// Adam's direction, with the decay added, scaled for each parameter to the norm of the parameter
/// (You et al. 2020, algorithm 2, phi the identity). The scale is 1 where either norm is 0.
/// Example: `Lamb(parameters(net), {.weight_decay = 0.01})`
class Lamb final : public Optimizer {
 public:
  explicit Lamb(std::vector<Parameter> parameters, LambOptions options = {});

 private:
  void update(const std::vector<Slot>& slots) const override;
  LambOptions options_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
