#pragma once

#include "tapegrad/ops/normalize.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct DivisiveOptions {
  double smoothing = 1;  ///< sigma
  double exponent = 2;   ///< p
};
/// Divisive normalization in its ratio form, row by row:
///   z_j = sum_i u_ji x_i / (sigma^2 + sum_k w_jk |x_k|^p)^(1/p)
/// (Heeger 1992; Ren et al. 2017, eq. 1).
///   x: (..., H)   summation u, suppression w: (H, H)   returns: x's shape
/// Throws ShapeError for other shapes, ArgumentError for an exponent that is not positive and for
/// options that are not finite.
/// Example: `divisive_norm(x, eye(6), ones({6, 6}), {.smoothing = 0.5})`
Tensor divisive_norm(const Tensor& x, const Tensor& summation, const Tensor& suppression,
                     const DivisiveOptions& options = {}, Place = Place::here());

/// The mean of |x - mean x| over a field: the L1 regularizer of Ren et al. 2017, eq. 7.
/// Example: `centered_l1(x, {.axes = {-1}})`
Tensor centered_l1(const Tensor& x, const NormField& field, Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
