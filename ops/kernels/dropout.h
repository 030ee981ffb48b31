#pragma once

#include "tapegrad/core/internal/philox.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// y[i] = x[i] factor where choice i is yes, otherwise x[i] 0. A task takes as many neighbouring
/// elements as are worth one.
void dropout(const Choices& choices, real factor, Index count, const real* x, real* y);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
