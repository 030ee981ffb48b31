#pragma once

#include "tapegrad/ops/elementwise.h"

namespace tapegrad::TAPEGRAD_SCALAR {

// Comparisons: 1 where true, otherwise 0. They are constants: no gradient flows through them.
/// Elsewhere: `torch.eq`, `x == y`; 1 or 0 for each element, without a gradient
/// Example: `sum(equal(sign(x), sign(y)))`
Tensor equal(const Tensor& a, const Tensor& b, Place = Place::here());
/// Example: `not_equal(x, 0)`
Tensor not_equal(const Tensor& a, const Tensor& b, Place = Place::here());
/// Example: `mean(less(x, y))`
Tensor less(const Tensor& a, const Tensor& b, Place = Place::here());
/// Example: `less_equal(x, 0.5)`
Tensor less_equal(const Tensor& a, const Tensor& b, Place = Place::here());
/// Example: `mean(greater(x, 0))`
Tensor greater(const Tensor& a, const Tensor& b, Place = Place::here());
/// Example: `greater_equal(x, y)`
Tensor greater_equal(const Tensor& a, const Tensor& b, Place = Place::here());
/// 0 for NaN and infinities.
/// Elsewhere: `torch.isfinite`
/// Example: `where(isfinite(x), x, 0)`
Tensor isfinite(const Tensor& x, Place = Place::here());

// Logic of conditions: every number but 0 is true, NaN too. The results are constants as well.
/// Elsewhere: `torch.logical_and`, `&`; also `logical_or`, `logical_not`
/// Example: `logical_and(x > 0, y > 0)`
Tensor logical_and(const Tensor& a, const Tensor& b, Place = Place::here());
/// Example: `logical_or(x > 0, y > 0)`
Tensor logical_or(const Tensor& a, const Tensor& b, Place = Place::here());
/// Example: `logical_not(x > 0)`
Tensor logical_not(const Tensor& x, Place = Place::here());

/// a where `condition` is not 0, b elsewhere; all three broadcast. `condition` gets no gradient,
/// and elements not chosen get 0, even where they are NaN or infinite.
/// Elsewhere: `torch.where`
/// Example: `where(x > y, x, y)`
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b, Place = Place::here());
/// `value` where `mask` is not 0, x elsewhere; the mask broadcasts to x's shape. Throws ShapeError
/// if it does not.
/// Elsewhere: `masked_fill`
/// Example: `softmax(masked_fill(square, triu(ones({3, 3}), 1), -INFINITY))`
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value, Place = Place::here());

inline Tensor operator<(const Operand& a, const Operand& b) {
  return less(a.tensor, b.tensor, a.place);
}
inline Tensor operator>(const Operand& a, const Operand& b) {
  return greater(a.tensor, b.tensor, a.place);
}
inline Tensor operator<=(const Operand& a, const Operand& b) {
  return less_equal(a.tensor, b.tensor, a.place);
}
inline Tensor operator>=(const Operand& a, const Operand& b) {
  return greater_equal(a.tensor, b.tensor, a.place);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
