#pragma once

#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// How far vectors are from being in order: sum_d max(0, g_d - s_d)^2 (Vendrov et al. 2016, eq. 2).
/// It is 0 exactly if the general vector is at most the specific one in every coordinate, so what
/// is general lies near the origin.
///   general, specific: (..., D), broadcast   returns their shape without D
/// Throws ShapeError for shapes that do not broadcast, and for scalars.
/// Example: `order_violation(reshape(x, {4, 1, 6}), reshape(y, {1, 4, 6}))`
Tensor order_violation(const Tensor& general, const Tensor& specific, Place = Place::here());

/// The loss of pairs that belong together and should cost less, by a margin, than all others of
/// their row and column: the sum over i != j of max(0, margin - E_ij + E_ii) + max(0, margin - E_ij
/// + E_jj) (Vendrov et al. 2016, eq. 5).
///   costs: (B, B), of the right pairs on the diagonal   returns ()
/// Throws ShapeError for costs that are not square, ArgumentError unless margin > 0.
/// Example: `contrastive_sum(square, 0.05)`
Tensor contrastive_sum(const Tensor& costs, double margin, Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
