#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::detail {

/// y = e^(x - shift), may be x; returns the sum. A loop of `kernels::softmax` for kernels of other
/// libraries, to which a shared tapegrad shows none of its own.
real exp_sum(const real* x, Index count, real shift, real* y);

}  // namespace tapegrad::TAPEGRAD_SCALAR::detail
