#include "tapegrad/nn/norm.h"

#include "tapegrad/ops/elementwise.h"

namespace tapegrad {

Tensor LayerNorm::operator()(const Tensor& x) const {
  const Tensor y = layer_norm(x, options);
  return gain.defined() ? y * gain + bias : y;
}

}  // namespace tapegrad
