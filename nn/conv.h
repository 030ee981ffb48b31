#pragma once

#include "tapegrad/core/random.h"
#include "tapegrad/nn/fields.h"
#include "tapegrad/ops/conv.h"

namespace tapegrad {

struct Conv2dOptions {
  Index stride = 1;
  Index padding = 0;
  bool bias = true;
  bool weight_norm = false;  ///< the weight is gain v / |v|, filter by filter (`weight_norm`)
};

/// A 2-d convolution with square windows.
///   x: (N, in, H, W)   weight: (out, in, size, size)   bias: (out, 1, 1)   gain: (out, 1, 1, 1)
///   returns (N, out, H', W') as in `conv2d`
/// Starts with PyTorch's U(+-1/sqrt(in size^2)) for both; with weight normalization `weight` holds
/// v, and the gain starts as |v|.
struct Conv2d {
  Parameter weight, bias, gain;
  ConvOptions window;

  Conv2d(Index in, Index out, Index size, Random& random, Conv2dOptions options = {});
  Tensor operator()(const Tensor& x) const;
  void visit(Fields& field) const {
    field("weight", weight);
    field("bias", bias);
    field("gain", gain);
  }
};

/// `max_pool2d` as a layer.
struct MaxPool2d {
  PoolOptions options;
  Tensor operator()(const Tensor& x) const { return max_pool2d(x, options); }
};

/// (N, ...) to (N, features).
struct Flatten {
  Tensor operator()(const Tensor& x) const;
};

}  // namespace tapegrad
