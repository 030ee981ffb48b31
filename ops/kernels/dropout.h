#pragma once

#include "tapegrad/core/internal/philox.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// y[i] = x[i] times `factor` where choice i is yes, otherwise times 0. A task takes neighbouring
/// elements.
void dropout(const Choices& choices, real factor, Index count, const real* x, real* y);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
