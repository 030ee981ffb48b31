#pragma once

#include "tapegrad/core/random.h"
#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The fan-in and fan-out of a weight: (in, out) for a linear layer, (O, C, R) or (O, C, R, S) for
/// a convolution. Throws ShapeError for other ranks.
/// Example: `const Fans around = fans({6, 3}); random.normal({around.in, around.out})`
struct Fans {
  Index in, out;
};
/// Example: `fans({16, 3, 5, 5}).in`
Fans fans(const Shape& weight);

/// Uniform within +-sqrt(6 / (in + out)), times `gain` (Glorot and Bengio 2010, eq. 16).
/// Example: `Linear layer(6, 3, random); layer.weight.set(xavier_uniform({6, 3}, random))`
Tensor xavier_uniform(const Shape& weight, Random& random, double gain = 1);
/// Normal with standard deviation sqrt(2 / (in + out)), times `gain`.
/// Example: `Parameter(xavier_normal({6, 3}, random))`
Tensor xavier_normal(const Shape& weight, Random& random, double gain = 1);
/// Uniform within +-sqrt(6 / in), for layers before a ReLU (He et al. 2015, eq. 10).
/// Example: `Parameter(kaiming_uniform({16, 3, 5, 5}, random))`
Tensor kaiming_uniform(const Shape& weight, Random& random);
/// Normal with standard deviation sqrt(2 / in).
/// Example: `Parameter(kaiming_normal({6, 3}, random))`
Tensor kaiming_normal(const Shape& weight, Random& random);
/// Uniform within +-1 / sqrt(fan_in), of any shape: PyTorch's default for linear layers,
/// convolutions and their biases.
/// Example: `Parameter(fan_in_uniform({6, 3}, 6, random))`
Tensor fan_in_uniform(const Shape& shape, Index fan_in, Random& random);
/// Random matrices with orthonormal columns (or rows, if those are fewer): `blocks` of them side by
/// side in a weight of shape (rows, columns). Throws ShapeError unless they fit.
/// Example: `Parameter(orthogonal({6, 6}, random))`
Tensor orthogonal(const Shape& weight, Random& random, Index blocks = 1);

}  // namespace tapegrad::TAPEGRAD_SCALAR
