#pragma once

#include "tapegrad/ops/kernels/axis.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// y (outer, inner) = the sums of x. A task takes some rows where inner is 1, otherwise some pieces
/// of 256 columns; a single long row is cut into pieces whose sums are added in order.
void sum(const AlongAxis& shape, const real* x, real* y);
/// y (outer, inner) = the greatest elements, NaN where there is one. A task takes some of `outer`.
void max(const AlongAxis& shape, const real* x, real* y);

/// Loops over one row of consecutive elements.
struct Reduce {
  real (*sum)(const real* x, Index count);
  real (*dot)(const real* a, const real* b, Index count);
  /// The greatest element; NaN if there is one. -inf over none.
  real (*max)(const real* x, Index count);
  /// total[i] += x[i]
  void (*accumulate)(const real* x, real* total, Index count);
};
const Reduce& reduce();

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
