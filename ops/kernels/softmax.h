#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// y = softmax(x) along the rows of x (rows, length); y may be x. A task takes as many rows as are
/// worth one.
void softmax(Index rows, Index length, const real* x, real* y);
/// y = log softmax(x), likewise.
void log_softmax(Index rows, Index length, const real* x, real* y);

/// What turns scores into weights again. Not the one number greatest + log(sum): it would have lost
/// the digits of the sum where scores are large.
struct SoftmaxRow {
  real greatest, inverse_sum;
};

/// Loops over one row of scores.
struct SoftmaxLoops {
  /// y = e^(x - shift), may be x; returns the sum.
  real (*exp_sum)(const real* x, Index count, real shift, real* y);
  /// Makes of scores s and gradients dp of the weights p: p = e^(s - greatest) / sum in the place
  /// of s, ds = p (dp - mean) scale in the place of dp.
  void (*backward)(real* s, real* dp, Index count, SoftmaxRow row, real mean, real scale);
};
const SoftmaxLoops& softmax_loops();

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
