#pragma once

#include "tapegrad/ops/kernels/axis.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

// A task takes some of `outer`.

/// y = the sums of x from the first element of each column on, or from the last one back, in double
/// precision.
void cumsum(const AlongAxis& shape, bool backward, const real* x, real* y);

/// positions (outer, count, inner): of the least elements of each column, or the greatest; NaN
/// counts as greatest. Equal elements keep their order.
void sort(const AlongAxis& shape, Index count, bool descending, const real* x, Index* positions);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
