#pragma once

#include "tapegrad/nn/fields.h"
#include "tapegrad/ops/norm.h"

namespace tapegrad {

struct LayerNormOptions {
  NormOptions norm = {};
  bool affine = true;  ///< with a learned gain (1 at first) and bias (0)
};

/// Layer normalization over the last axis with gain and bias (Ba et al. 2016, eq. 15-16).
///   x: (..., channels)   gain, bias: (channels)   returns: same shape
struct LayerNorm {
  Parameter gain, bias;
  NormOptions options;

  explicit LayerNorm(Index channels, LayerNormOptions o = {}) : options(o.norm) {
    if (!o.affine) return;
    gain = Parameter(ones({channels}));
    bias = Parameter(zeros({channels}));
  }
  Tensor operator()(const Tensor& x) const;
  void visit(Fields& field) const {
    field("gain", gain);
    field("bias", bias);
  }
};

}  // namespace tapegrad
