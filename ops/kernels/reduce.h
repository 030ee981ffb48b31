#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

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
