#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::kernels {

/// Loops over one row of scores.
struct SoftmaxLoops {
  /// y = e^(x - shift), may be x; returns the sum.
  real (*exp_sum)(const real* x, Index count, real shift, real* y);
  /// Makes of scores s and gradients dp of the weights p: p = e^(s - normalizer) in the place of s,
  /// ds = p (dp - mean) scale in the place of dp.
  void (*backward)(real* s, real* dp, Index count, real normalizer, real mean, real scale);
};
const SoftmaxLoops& softmax_loops();

}  // namespace tapegrad::kernels
