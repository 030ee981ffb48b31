#pragma once

#include "tapegrad/core/random.h"
#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The fan-in and fan-out of a weight: (in, out) for a linear layer, (O, C, R) or (O, C, R, S) for
/// a convolution. Throws ShapeError for other ranks.
struct Fans {
  Index in, out;
};
Fans fans(const Shape& weight);

/// Uniform within +-sqrt(6 / (in + out)), times `gain` (Glorot and Bengio 2010, eq. 16).
Tensor xavier_uniform(const Shape& weight, Random& random, double gain = 1);
/// Normal with standard deviation sqrt(2 / (in + out)), times `gain`.
Tensor xavier_normal(const Shape& weight, Random& random, double gain = 1);
/// Uniform within +-sqrt(6 / in), for layers before a ReLU (He et al. 2015, eq. 10).
Tensor kaiming_uniform(const Shape& weight, Random& random);
/// Normal with standard deviation sqrt(2 / in).
Tensor kaiming_normal(const Shape& weight, Random& random);
/// Uniform within +-1 / sqrt(fan_in), of any shape: PyTorch's default for linear layers,
/// convolutions and their biases.
Tensor fan_in_uniform(const Shape& shape, Index fan_in, Random& random);
/// Random matrices with orthonormal columns (or rows, if those are fewer): `blocks` of them side by
/// side in a weight of shape (rows, columns). Throws ShapeError unless they fit.
Tensor orthogonal(const Shape& weight, Random& random, Index blocks = 1);

}  // namespace tapegrad::TAPEGRAD_SCALAR
