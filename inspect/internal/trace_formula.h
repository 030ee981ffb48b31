#pragma once

#include <string>

#include "tapegrad/inspect/internal/trace_guess.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// How a tensor is computed from the inputs of a difference, in words that follow "B is": a product
/// with a matrix, a convolution, a normalization, a quotient by a root, or a sum of two, with the
/// factors and epsilons that fit; "" if it is none of these. "x times w, transposed, plus b",
/// "0.9 times m plus 0.1 times g".
std::string formula(const Tensor& y, const TraceDifference& difference);

/// Whether there are rows x with a = x w and b = x w^T.   a, b: (..., n)   w: (n, n), invertible
bool is_turned(const Tensor& a, const Tensor& b, const Tensor& w);

}  // namespace tapegrad::TAPEGRAD_SCALAR
