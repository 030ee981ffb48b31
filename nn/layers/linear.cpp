#include "tapegrad/nn/layers/linear.h"

#include "tapegrad/core/options.h"
#include "tapegrad/nn/layers/init.h"
#include "tapegrad/nn/pytorch.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/norm.h"

namespace tapegrad::TAPEGRAD_SCALAR {

Tensor used_weight(const Parameter& weight, const Parameter& gain, const Axes& axes) {
  return gain.defined() ? weight_norm(weight, gain, axes) : Tensor(weight);
}

Linear::Linear(Index in, Index out, Random& random, LinearOptions options)
    : weight(fan_in_uniform(
          {expect_positive("Linear", "in", in), expect_positive("Linear", "out", out)}, in,
          random)) {
  if (options.bias) bias = Parameter(fan_in_uniform({out}, in, random));
  if (options.weight_norm) gain = Parameter(norm(weight, 0));
}

Tensor Linear::operator()(const Tensor& x, Place place) const {
  const PlaceScope caller(place);
  const Tensor w = used_weight(weight, gain, 0);
  return bias.defined() ? linear(x, w, bias) : matmul(x, w);
}

void Linear::pytorch(PyTorchState& state) const {
  state.transposed(gain.defined() ? "weight_v" : "weight", weight);
  state.reshaped("weight_g", gain, {gain.shape().size(), 1});
  state("bias", bias);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
