#include "tapegrad/nn/conv.h"

#include "tapegrad/nn/init.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/norm.h"

namespace tapegrad {

Conv2d::Conv2d(Index in, Index out, Index size, Random& random, Conv2dOptions options)
    : weight(fan_in_uniform({out, in, size, size}, in * size * size, random)),
      window{.stride = options.stride, .padding = options.padding} {
  if (options.bias) bias = Parameter(fan_in_uniform({out, 1, 1}, in * size * size, random));
  if (options.weight_norm) gain = Parameter(norm(weight, {1, 2, 3}, Keep::yes));
}

Tensor Conv2d::operator()(const Tensor& x) const {
  const Tensor filters = gain.defined() ? weight_norm(weight, gain, {1, 2, 3}) : Tensor(weight);
  const Tensor y = conv2d(x, filters, window);
  return bias.defined() ? y + bias : y;
}

Tensor Flatten::operator()(const Tensor& x) const {
  return reshape(x, {x.shape()[0], x.shape().count(1, x.rank())});
}

}  // namespace tapegrad
