#pragma once

#include "tapegrad/core/random.h"
#include "tapegrad/nn/fields.h"

namespace tapegrad {

struct LinearOptions {
  bool bias = true;
};

/// x W + b.
///   x: (..., in)   weight: (in, out)   bias: (out)   returns (..., out)
/// Starts with PyTorch's U(+-1/sqrt(in)) for both.
struct Linear {
  Parameter weight, bias;

  Linear(Index in, Index out, Random& random, LinearOptions options = {});
  Tensor operator()(const Tensor& x) const;
  void visit(Fields& field) const {
    field("weight", weight);
    field("bias", bias);
  }
};

}  // namespace tapegrad
