#pragma once

#include "tapegrad/core/random.h"
#include "tapegrad/nn/fields.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct LinearOptions {
  bool bias = true;
  bool weight_norm = false;  ///< the weight is gain v / |v| for each column (`weight_norm`)
};

/// The weight that a layer computes with: normalized (`weight_norm`) if it has a gain.
/// Example: `const Linear layer(6, 3, random); used_weight(layer.weight, layer.gain, 0)`
Tensor used_weight(const Parameter& weight, const Parameter& gain, const Axes& axes);

/// x W + b.
///   x: (..., in)   weight: (in, out)   bias, gain: (out)   returns (..., out)
/// Weight and bias start with PyTorch's U(+-1/sqrt(in)). With weight normalization, `weight` holds
/// v and the gain starts as |v|. Throws ArgumentError for sizes below 1.
/// Example: `Linear(6, 3, random, {.bias = false})(x)`
struct Linear {
  Parameter weight, bias, gain;

  Linear(Index in, Index out, Random& random, LinearOptions options = {});
  Tensor operator()(const Tensor& x, Place = Place::here()) const;
  void visit(Fields& field) const {
    field("weight", weight);
    field("bias", bias);
    field("gain", gain);
  }
  /// nn.Linear, or with a gain one under torch.nn.utils.weight_norm.
  void pytorch(PyTorchState& state) const;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
