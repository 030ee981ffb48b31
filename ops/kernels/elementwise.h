#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// y[i] = f(x[i])
using Unary = void (*)(const real* x, real* y, Index count);

/// One operand of a loop: an array, or a single value for all iterations.
struct Span {
  const real* values;
  bool single;
};
/// y[i] = f(a[i], b[i])
using Binary = void (*)(Span a, Span b, real* y, Index count);

/// The loops for one instruction set.
struct Elementwise {
  Unary neg, abs, sign, floor, ceil, round, isfinite, exp, expm1, log, log1p, sqrt, rsqrt, square,
      reciprocal, sin, cos, tanh, erf, sigmoid, relu, softplus, gelu;
  Binary add, sub, mul, div, pow, minimum, maximum, equal, not_equal, less, less_equal, greater,
      greater_equal;
  Binary gate;    ///< 0 where b <= 0, otherwise a
  Binary weigh;   ///< 0 where b = 0, even if a is NaN or infinite, otherwise a b
  Binary chosen;  ///< 1 where a = b or a is NaN, otherwise 0
  /// The share of a in the minimum or maximum: 1/2 where a = b, 1 where a wins or is NaN, otherwise
  /// 0.
  Binary minimum_share, maximum_share;
  Binary gelu_slope;  ///< a times the derivative of gelu at b
};

/// The loops for `instruction_set()`.
const Elementwise& elementwise();

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
