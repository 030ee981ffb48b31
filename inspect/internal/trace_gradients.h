#pragma once

#include <vector>

#include "tapegrad/inspect/trace.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// For each value of a trace, how large the numbers are whose sum is its gradient. Where they
/// cancel, what is left is rounding in proportion to them: the gradient of a bias before batch
/// normalization is 0 but for rounding.
///   rounding: gradients of at most this part of such a sum are nothing else
std::vector<double> gradient_scales(const Trace& trace, double rounding);

}  // namespace tapegrad::TAPEGRAD_SCALAR
