#pragma once

#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

// Elementwise operations. With one operand, the result has its shape. Several operands broadcast by
// NumPy's rule; those that do not fit throw ShapeError, naming the shapes.

Tensor add(const Tensor& a, const Tensor& b, Place = Place::here());
Tensor sub(const Tensor& a, const Tensor& b, Place = Place::here());
Tensor mul(const Tensor& a, const Tensor& b, Place = Place::here());
Tensor div(const Tensor& a, const Tensor& b, Place = Place::here());
/// a^b. Gradients at a = 0 follow PyTorch: 0 for a where b = 0, 0 for b where a = 0.
Tensor pow(const Tensor& a, const Tensor& b, Place = Place::here());
/// The smaller or the larger of two; equal elements get half the gradient each, as in PyTorch.
Tensor minimum(const Tensor& a, const Tensor& b, Place = Place::here());
Tensor maximum(const Tensor& a, const Tensor& b, Place = Place::here());

Tensor neg(const Tensor& x, Place = Place::here());
/// |x|; the gradient at 0 is 0.
Tensor abs(const Tensor& x, Place = Place::here());
/// -1, 0 or 1; its gradient is 0 everywhere.
Tensor sign(const Tensor& x, Place = Place::here());
/// The nearest whole number not above x, not below x, or in either direction, of two the even one.
/// Their gradients are 0 everywhere.
Tensor floor(const Tensor& x, Place = Place::here());
Tensor ceil(const Tensor& x, Place = Place::here());
Tensor round(const Tensor& x, Place = Place::here());
Tensor exp(const Tensor& x, Place = Place::here());
/// e^x - 1, accurate near 0.
Tensor expm1(const Tensor& x, Place = Place::here());
Tensor log(const Tensor& x, Place = Place::here());
/// log(1 + x), accurate near 0.
Tensor log1p(const Tensor& x, Place = Place::here());
Tensor sqrt(const Tensor& x, Place = Place::here());
/// 1 / sqrt(x)
Tensor rsqrt(const Tensor& x, Place = Place::here());
Tensor square(const Tensor& x, Place = Place::here());
/// 1 / x
Tensor reciprocal(const Tensor& x, Place = Place::here());
Tensor sin(const Tensor& x, Place = Place::here());
Tensor cos(const Tensor& x, Place = Place::here());
Tensor tanh(const Tensor& x, Place = Place::here());
/// The error function 2/sqrt(pi) int_0^x exp(-t^2) dt.
Tensor erf(const Tensor& x, Place = Place::here());

/// 1 / (1 + e^-x)
Tensor sigmoid(const Tensor& x, Place = Place::here());
/// max(x, 0); the gradient at 0 is 0.
Tensor relu(const Tensor& x, Place = Place::here());
/// x for x > 0, otherwise slope x; the gradient at 0 is `slope`.
Tensor leaky_relu(const Tensor& x, double slope = 0.01, Place = Place::here());
/// x for x > 0, otherwise alpha (e^x - 1) (Clevert et al. 2016).
Tensor elu(const Tensor& x, double alpha = 1, Place = Place::here());
/// x Phi(x), with the standard normal distribution function Phi (Hendrycks and Gimpel 2016).
Tensor gelu(const Tensor& x, Place = Place::here());
/// The approximation of gelu x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
Tensor gelu_tanh(const Tensor& x, Place = Place::here());
/// x sigmoid(x)
Tensor silu(const Tensor& x, Place = Place::here());
/// log(1 + e^x)
Tensor softplus(const Tensor& x, Place = Place::here());
/// x limited to [low, high]; the gradient is 1 inside and on the bounds, 0 outside.
Tensor clamp(const Tensor& x, double low, double high, Place = Place::here());

// Comparisons: 1 where true, otherwise 0. They are constants: no gradient flows through them.
Tensor equal(const Tensor& a, const Tensor& b, Place = Place::here());
Tensor not_equal(const Tensor& a, const Tensor& b, Place = Place::here());
Tensor less(const Tensor& a, const Tensor& b, Place = Place::here());
Tensor less_equal(const Tensor& a, const Tensor& b, Place = Place::here());
Tensor greater(const Tensor& a, const Tensor& b, Place = Place::here());
Tensor greater_equal(const Tensor& a, const Tensor& b, Place = Place::here());
/// 0 for NaN and infinities.
Tensor isfinite(const Tensor& x, Place = Place::here());

// Logic of conditions: every number but 0 is true, NaN too. The results are constants as well.
Tensor logical_and(const Tensor& a, const Tensor& b, Place = Place::here());
Tensor logical_or(const Tensor& a, const Tensor& b, Place = Place::here());
Tensor logical_not(const Tensor& x, Place = Place::here());

/// a where `condition` is not 0, b elsewhere; all three broadcast. `condition` gets no gradient,
/// and elements not chosen get 0, even where they are NaN or infinite.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b, Place = Place::here());
/// `value` where `mask` is not 0, x elsewhere; the mask broadcasts to x's shape. Throws ShapeError
/// if it does not.
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value, Place = Place::here());

namespace composite {
Tensor gelu(const Tensor& x);
}  // namespace composite

/// An operand of +, -, *, / or a comparison: a tensor, a parameter or a number, and the line it
/// appears on.
struct Operand {
  Operand(const Tensor& x, Place p = Place::here()) : tensor(x), place(p) {}
  Operand(const Parameter& x, Place p = Place::here()) : owned(x), tensor(owned), place(p) {}
  Operand(double x, Place p = Place::here()) : owned(x), tensor(owned), place(p) {}
  Tensor owned;
  const Tensor& tensor;
  Place place;
};
inline Tensor operator+(const Operand& a, const Operand& b) {
  return add(a.tensor, b.tensor, a.place);
}
inline Tensor operator-(const Operand& a, const Operand& b) {
  return sub(a.tensor, b.tensor, a.place);
}
inline Tensor operator*(const Operand& a, const Operand& b) {
  return mul(a.tensor, b.tensor, a.place);
}
inline Tensor operator/(const Operand& a, const Operand& b) {
  return div(a.tensor, b.tensor, a.place);
}
inline Tensor operator-(const Operand& x) { return neg(x.tensor, x.place); }

inline Tensor& operator+=(Tensor& a, const Operand& b) { return a = add(a, b.tensor, b.place); }
inline Tensor& operator-=(Tensor& a, const Operand& b) { return a = sub(a, b.tensor, b.place); }
inline Tensor& operator*=(Tensor& a, const Operand& b) { return a = mul(a, b.tensor, b.place); }
inline Tensor& operator/=(Tensor& a, const Operand& b) { return a = div(a, b.tensor, b.place); }

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
