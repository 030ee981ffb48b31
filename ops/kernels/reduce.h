#pragma once

#include "tapegrad/ops/kernels/axis.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// y (outer, inner) = the sums of x. A task takes some rows where inner is 1, otherwise some pieces
/// of 256 columns; one that is long is cut into tasks, whose sums are summed in turn.
void sum(const AlongAxis& shape, const real* x, real* y);
/// y (outer, inner) = the greatest elements, NaN where there is one. A task takes some of `outer`.
void max(const AlongAxis& shape, const real* x, real* y);

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
