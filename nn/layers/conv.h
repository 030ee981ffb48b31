#pragma once

#include "tapegrad/core/random.h"
#include "tapegrad/nn/fields.h"
#include "tapegrad/nn/functions/conv.h"
#include "tapegrad/nn/functions/pool.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct Conv2dOptions {
  HeightWidth stride = 1;
  HeightWidth padding = 0;
  HeightWidth dilation = 1;
  Index groups = 1;
  bool bias = true;
  bool weight_norm = false;  ///< the weight is gain v / |v| for each filter (`weight_norm`)
};

/// A 2-d convolution with windows of a size for both axes, or of {height, width}.
///   x: (N, in, H, W)   weight: (out, in / groups, height, width)   bias: (out, 1, 1)
///   gain: (out, 1, 1, 1)   returns (N, out, H', W') as in `conv2d`
/// Weight and bias start with PyTorch's U(+-1/sqrt(in / groups height width)). With weight
/// normalization, `weight` holds v and the gain starts as |v|. Throws ArgumentError for sizes,
/// strides and dilations below 1, and for groups that do not divide `in` and `out`.
/// Example: `Conv2d(3, 16, 3, random, {.padding = 1})(images)`
struct Conv2d {
  Parameter weight, bias, gain;
  ConvOptions window;

  Conv2d(Index in, Index out, HeightWidth size, Random& random, Conv2dOptions options = {});
  Tensor operator()(const Tensor& x, Place = Place::here()) const;
  void visit(Fields& field) const {
    field("weight", weight);
    field("bias", bias);
    field("gain", gain);
  }
  /// nn.Conv2d, or with a gain one under torch.nn.utils.weight_norm.
  void pytorch(PyTorchState& state) const;
};

/// Example: `Conv1d(3, 16, 3, random, Conv1dOptions{.padding = 1})(sequence)`
using Conv1dOptions = Conv2dOptions;

/// A convolution along one axis.
///   x: (N, in, L)   weight: (out, in / groups, size)   bias: (out, 1)   gain: (out, 1, 1)
///   returns (N, out, L') as in `conv1d`
/// Weight and bias start with PyTorch's U(+-1/sqrt(in / groups size)). Throws ArgumentError as
/// Conv2d does, and for options with two different numbers.
/// Example: `Conv1d(3, 16, 3, random, {.padding = 1})(sequence)`
struct Conv1d {
  Parameter weight, bias, gain;
  ConvOptions window;

  Conv1d(Index in, Index out, Index size, Random& random, Conv1dOptions options = {});
  Tensor operator()(const Tensor& x, Place = Place::here()) const;
  void visit(Fields& field) const {
    field("weight", weight);
    field("bias", bias);
    field("gain", gain);
  }
  /// nn.Conv1d, or with a gain one under torch.nn.utils.weight_norm.
  void pytorch(PyTorchState& state) const;
};

struct ConvTranspose2dOptions {
  HeightWidth stride = 1;
  HeightWidth padding = 0;
  HeightWidth output_padding = 0;
  HeightWidth dilation = 1;
  Index groups = 1;
  bool bias = true;
};

/// The transpose of a 2-d convolution, with windows as in Conv2d.
///   x: (N, in, H, W)   weight: (in, out / groups, height, width)   bias: (out, 1, 1)
///   returns (N, out, H', W') as in `conv_transpose2d`
/// Weight and bias start with PyTorch's U(+-1/sqrt(out / groups height width)). Throws
/// ArgumentError as Conv2d does, and for an output_padding that is not less than the stride.
/// Example: `ConvTranspose2d(3, 16, 2, random, {.stride = 2})(images)`
struct ConvTranspose2d {
  Parameter weight, bias;
  ConvTransposeOptions window;

  ConvTranspose2d(Index in, Index out, HeightWidth size, Random& random,
                  ConvTranspose2dOptions options = {});
  Tensor operator()(const Tensor& x, Place = Place::here()) const;
  void visit(Fields& field) const {
    field("weight", weight);
    field("bias", bias);
  }
  /// nn.ConvTranspose2d.
  void pytorch(PyTorchState& state) const;
};

/// `max_pool2d` as a layer.
/// Example: `Sequential{Conv2d(3, 4, 3, random), relu, MaxPool2d{{.size = 2}}}(images)`
struct MaxPool2d {
  PoolOptions options;
  Tensor operator()(const Tensor& x, Place place = Place::here()) const {
    return max_pool2d(x, options, place);
  }
};

/// (N, ...) to (N, features).
/// Example: `Sequential{Flatten(), Linear(192, 10, random)}(images)`
struct Flatten {
  Tensor operator()(const Tensor& x, Place = Place::here()) const;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
