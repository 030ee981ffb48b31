#pragma once

#include "tapegrad/core/internal/philox.h"
#include "tapegrad/ops/kernels/elementwise.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// y[i] = product(x[i], factor) where choice i is yes, otherwise product(x[i], 0). A task takes
/// neighbouring elements.
void dropout(const Choices& choices, real factor, Binary product, Index count, const real* x,
             real* y);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
