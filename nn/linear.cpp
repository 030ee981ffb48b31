#include "tapegrad/nn/linear.h"

#include "tapegrad/nn/init.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/matmul.h"

namespace tapegrad {

Linear::Linear(Index in, Index out, Random& random, LinearOptions options)
    : weight(fan_in_uniform({in, out}, in, random)) {
  if (options.bias) bias = Parameter(fan_in_uniform({out}, in, random));
}

Tensor Linear::operator()(const Tensor& x) const {
  const Tensor y = matmul(x, weight);
  return bias.defined() ? y + bias : y;
}

}  // namespace tapegrad
