#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// y = softmax(x) along the rows of x (rows, length); y may be x. A task takes as many rows as make
/// it worthwhile.
void softmax(Index rows, Index length, const real* x, real* y);
/// y = log softmax(x), likewise.
void log_softmax(Index rows, Index length, const real* x, real* y);

/// Turns scores into weights again. The single number greatest + log(sum) would lose the digits of
/// the sum when scores are large.
struct SoftmaxRow {
  real greatest, inverse_sum;
};

/// Loops over one row of scores.
struct SoftmaxLoops {
  /// y = e^(x - shift), may be x; returns the sum.
  real (*exp_sum)(const real* x, Index count, real shift, real* y);
  /// Given scores s and the gradients dp of the weights p, replaces s by p = e^(s - greatest) / sum
  /// and dp by ds = p (dp - mean) scale.
  void (*backward)(real* s, real* dp, Index count, SoftmaxRow row, real mean, real scale);
};
const SoftmaxLoops& softmax_loops();

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
