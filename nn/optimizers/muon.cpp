#include "tapegrad/nn/optimizers/muon.h"

#include <algorithm>
#include <cmath>

#include "tapegrad/core/options.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// Roughly the orthogonal matrix U V^T nearest to a matrix U S V^T: the polynomial acts on its
// singular values, and five iterations bring them into [0.7, 1.2].
Tensor orthogonalized(const Tensor& matrix) {
  const bool wide = matrix.shape()[0] < matrix.shape()[1];
  Tensor x = matrix / (norm(matrix) + 1e-7);
  for (int i = 0; i < 5; ++i) {
    const Tensor a = matmul(x, x, {.a = !wide, .b = wide});  // the smaller of x^T x and x x^T
    const Tensor even = -4.7750 * a + 2.0315 * matmul(a, a);
    x = 3.4445 * x + (wide ? matmul(even, x) : matmul(x, even));
  }
  return x;
}

// The step for the momentum of a matrix or a kernel.
Tensor direction_of(const Tensor& momentum) {
  const Shape& shape = momentum.shape();
  if (shape.rank() == 2)
    return std::sqrt(std::max(1.0, static_cast<double>(shape[1]) / static_cast<double>(shape[0]))) *
           orthogonalized(momentum);
  const Tensor flat = reshape(momentum, {shape[0], -1});
  return reshape(transpose(direction_of(transpose(flat))), shape);
}

}  // namespace

Muon::Muon(std::vector<Parameter> list, MuonOptions options)
    : Adam("muon", std::move(list),
           {.learning_rate = options.learning_rate,
            .beta1 = options.beta1,
            .beta2 = options.beta2,
            .epsilon = options.epsilon,
            .weight_decay = options.weight_decay,
            .center_gradients = options.center_gradients,
            .center_weights = options.center_weights},
           Decay::decoupled),
      options_(options) {
  expect_share("muon", "momentum", options.momentum);
  for (const Parameter& parameter : parameters())
    if (is_vector(parameter.shape()))
      set_group({parameter}, {.learning_rate_factor = options.vector_factor});
}

void Muon::update(const std::vector<Slot>& slots) const {
  const NoGrad values_only;
  const double kept = options_.momentum;
  std::vector<Slot> matrices, vectors;
  for (const Slot& slot : slots)
    (is_vector(slot.gradient->shape()) ? vectors : matrices).push_back(slot);
  // All new values first: a step for which there is no memory changes nothing.
  std::vector<Tensor> weights, means;
  for (const Slot& slot : matrices) {
    const Tensor& g = *slot.gradient;
    means.push_back(kept * *slot.moments[0] + (1 - kept) * g);
    const Tensor mean = options_.nesterov ? kept * means.back() + (1 - kept) * g : means.back();
    const double shrink = 1 - slot.learning_rate * slot.weight_decay;
    weights.push_back(shrink * slot.parameter->value() - slot.learning_rate * direction_of(mean));
  }
  Adam::update(vectors);
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    matrices[i].parameter->set(weights[i]);
    *matrices[i].moments[0] = means[i];
  }
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
