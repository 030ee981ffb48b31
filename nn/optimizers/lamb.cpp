#include "tapegrad/nn/optimizers/lamb.h"

#include <cmath>

#include "tapegrad/core/options.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {

Lamb::Lamb(std::vector<Parameter> parameters, LambOptions options)
    : Optimizer("lamb", std::move(parameters), options.learning_rate, options.weight_decay,
                {"mean", "square"}, options.center_gradients, options.center_weights),
      options_(options) {
  expect_share("lamb", "beta1", options.beta1);
  expect_share("lamb", "beta2", options.beta2);
  expect_not_negative("lamb", "epsilon", options.epsilon);
}

void Lamb::update(const std::vector<Slot>& slots) const {
  const NoGrad values_only;
  const double beta1 = options_.beta1, beta2 = options_.beta2;
  // All new values first: a step for which there is no memory changes nothing.
  std::vector<Tensor> weights, means, squares;
  for (const Slot& slot : slots) {
    const auto t = static_cast<double>(slot.steps + 1);
    const Tensor w = slot.parameter->value(), g = *slot.gradient;
    means.push_back(beta1 * *slot.moments[0] + (1 - beta1) * g);
    squares.push_back(beta2 * *slot.moments[1] + (1 - beta2) * square(g));
    const Tensor root = sqrt(squares.back() * (1 / (1 - std::pow(beta2, t))));
    const Tensor direction =
        means.back() * (1 / (1 - std::pow(beta1, t))) / (root + options_.epsilon) +
        slot.weight_decay * w;
    const double size = norm(w).item(), length = norm(direction).item();
    const double scale = size > 0 && length > 0 ? size / length : 1;
    weights.push_back(w - slot.learning_rate * scale * direction);
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    slots[i].parameter->set(weights[i]);
    *slots[i].moments[0] = means[i];
    *slots[i].moments[1] = squares[i];
  }
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
