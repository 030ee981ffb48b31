#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// An array (outer, length, inner); `length` is the axis to reduce.
struct Reduced {
  Index outer, length, inner;
};
/// y (outer, inner) = the sums of x. A task takes some rows if inner is 1, otherwise some pieces of
/// 256 columns. A single long row is cut into pieces, and their sums are added in order.
void sum(const Reduced& shape, const real* x, real* y);
/// y (outer, inner) = the greatest elements, NaN where there is one. A task takes some of `outer`.
void max(const Reduced& shape, const real* x, real* y);

/// Loops over one row of consecutive elements.
struct Reduce {
  real (*sum)(const real* x, Index count);
  real (*dot)(const real* a, const real* b, Index count);
  /// The greatest element; NaN if there is one; -inf if there are no elements.
  real (*max)(const real* x, Index count);
  /// total[i] += x[i]
  void (*accumulate)(const real* x, real* total, Index count);
};
const Reduce& reduce();

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
