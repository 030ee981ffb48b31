#pragma once

#include "tapegrad/ops/kernels/axis.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

// A task takes some of `outer`.

/// y = the sums of the elements of each column up to each one, or from each one on if `backward`.
/// Adds in double precision.
void cumsum(const AlongAxis& shape, bool backward, const real* x, real* y);

/// positions (outer, count, inner) = where in its column each of the `count` least elements is, the
/// least first; of the greatest if `descending`. NaN counts as greatest; equal elements keep their
/// order.
void sort(const AlongAxis& shape, Index count, bool descending, const real* x, Index* positions);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
