#pragma once

#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// covariance^(-1/2) by Newton-Schulz iterations, from products alone (Huang et al. 2019,
/// "Iterative normalization: beyond standardization towards efficient whitening", algorithm 1):
/// with the trace t and S = covariance / t, P_0 = I, P_k = (3 P_(k-1) - P_(k-1)^3 S) / 2, and the
/// result is P_iterations / sqrt(t). Directions of small variance need many iterations.
///   covariance: (..., n, n), symmetric and positive definite   returns (..., n, n)
/// Throws ShapeError for matrices that are not square, ArgumentError for fewer than 1 iteration.
/// Example: `inverse_root(square, 5)`
Tensor inverse_root(const Tensor& covariance, Index iterations, Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
