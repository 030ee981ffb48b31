#pragma once

#include <limits>

#include "tapegrad/ops/kernels/axis.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// y (outer, inner) = the sums of x. A task takes some rows where inner is 1, otherwise some pieces
/// of 256 columns; one that is long is cut into tasks, whose sums are summed in turn.
void sum(const AlongAxis& shape, const real* x, real* y);
/// y (outer, inner) = the greatest elements, NaN where there is one. A task takes some of `outer`.
void max(const AlongAxis& shape, const real* x, real* y);

/// Whether a sum of squares keeps the digits of its elements: it is neither infinite nor so small
/// that squares below the least normal number count in it. NaN counts as such.
inline bool keeps_digits(double squares) {
  using Limits = std::numeric_limits<real>;
  constexpr double least = Limits::min() / Limits::epsilon();
  return !(squares < least || squares == std::numeric_limits<double>::infinity());
}
/// The Euclidean norm of a row without NaN, whose elements are divided by the largest one.
double scaled_norm(const real* x, Index count);

/// The number of columns to sum side by side.
constexpr Index column_tile = 256;

/// Loops over rows of consecutive elements.
struct Reduce {
  real (*sum)(const real* x, Index count);
  real (*dot)(const real* a, const real* b, Index count);
  /// The greatest element; NaN if there is one; -inf if there are no elements.
  real (*max)(const real* x, Index count);
  /// total[i] += x[i]
  void (*accumulate)(const real* x, real* total, Index count);
  /// total = the sum of rows that begin `stride` elements apart
  void (*sum_columns)(const real* x, Index rows, Index stride, real* total, Index count);
};
const Reduce& reduce();

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
