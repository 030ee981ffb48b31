#pragma once

#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

// Elementwise operations. With one operand, the result has its shape. Several operands broadcast by
// NumPy's rule; those that do not fit throw ShapeError, naming the shapes.
//
// Infinities and NaN are as in the C++ library, which ignores one NaN in pow(x, 0) and pow(1, x)
// alone. Where a value does not depend on an element, as with relu, clamp, minimum and maximum on
// one side, or with functions of steps, the gradient of the element is 0 whatever arrives, even an
// infinity or NaN. Elsewhere, what arrives is multiplied by the slope, so that 0 times infinity is
// NaN, and the gradient of a NaN is 0 only if another factor is 0.

/// Elsewhere: `x + y`, `jnp.add`; as `x + y`; shapes broadcast as in NumPy
/// Example: `add(x, y)`
Tensor add(const Tensor& a, const Tensor& b, Place = Place::here());
/// Example: `sub(x, y)`
Tensor sub(const Tensor& a, const Tensor& b, Place = Place::here());
/// Example: `mul(x, y)`
Tensor mul(const Tensor& a, const Tensor& b, Place = Place::here());
/// Example: `div(x, y)`
Tensor div(const Tensor& a, const Tensor& b, Place = Place::here());
/// a^b. Gradients at a = 0 follow PyTorch: 0 for a where b = 0, 0 for b where a = 0.
/// Elsewhere: `x ** y`
/// Example: `pow(x, 2)`
Tensor pow(const Tensor& a, const Tensor& b, Place = Place::here());
/// The smaller or the larger of two; equal elements get half the gradient each, as in PyTorch. A
/// NaN wins and gets all of it; of two, each does.
/// Example: `minimum(x, y)`
Tensor minimum(const Tensor& a, const Tensor& b, Place = Place::here());
/// Elsewhere: `torch.maximum`, `fmax`
/// Example: `maximum(x, 0)`
Tensor maximum(const Tensor& a, const Tensor& b, Place = Place::here());

/// Example: `neg(x)`
Tensor neg(const Tensor& x, Place = Place::here());
/// |x|; the gradient at 0 is 0 whatever arrives.
/// Example: `abs(x - y)`
Tensor abs(const Tensor& x, Place = Place::here());
/// -1, 0 or 1; its gradient is 0 everywhere.
/// Example: `sign(x)`
Tensor sign(const Tensor& x, Place = Place::here());
/// The nearest whole number not above x, not below x, or in either direction, of two the even one.
/// Their gradients are 0 everywhere.
/// Example: `floor(10 * x)`
Tensor floor(const Tensor& x, Place = Place::here());
/// Example: `ceil(10 * x)`
Tensor ceil(const Tensor& x, Place = Place::here());
/// Elsewhere: `torch.floor`, `ceil`, `round`; of two nearest numbers the even one; gradient 0
/// Example: `round(10 * x)`
Tensor round(const Tensor& x, Place = Place::here());
/// Example: `exp(x)`
Tensor exp(const Tensor& x, Place = Place::here());
/// e^x - 1, accurate near 0.
/// Example: `expm1(1e-4 * x)`
Tensor expm1(const Tensor& x, Place = Place::here());
/// Example: `log(abs(x) + 1e-6)`
Tensor log(const Tensor& x, Place = Place::here());
/// log(1 + x), accurate near 0.
/// Elsewhere: `torch.special.expm1`, `log1p`
/// Example: `log1p(square(x))`
Tensor log1p(const Tensor& x, Place = Place::here());
/// Example: `sqrt(sum(square(x), -1))`
Tensor sqrt(const Tensor& x, Place = Place::here());
/// 1 / sqrt(x)
/// Elsewhere: `torch.rsqrt`
/// Example: `rsqrt(var(x, -1) + 1e-5)`
Tensor rsqrt(const Tensor& x, Place = Place::here());
/// Example: `mean(square(x))`
Tensor square(const Tensor& x, Place = Place::here());
/// 1 / x
/// Example: `reciprocal(1 + square(x))`
Tensor reciprocal(const Tensor& x, Place = Place::here());
/// Example: `sin(3 * x)`
Tensor sin(const Tensor& x, Place = Place::here());
/// Example: `cos(3 * x)`
Tensor cos(const Tensor& x, Place = Place::here());
/// Example: `tanh(x)`
Tensor tanh(const Tensor& x, Place = Place::here());
/// The error function 2/sqrt(pi) int_0^x exp(-t^2) dt.
/// Example: `0.5 * (1 + erf(x / std::sqrt(2)))`
Tensor erf(const Tensor& x, Place = Place::here());

/// 1 / (1 + e^-x)
/// Elsewhere: `torch.sigmoid`, `expit`
/// Example: `sigmoid(logits)`
Tensor sigmoid(const Tensor& x, Place = Place::here());
/// max(x, 0); the gradient at 0 is 0, and at NaN 1.
/// Elsewhere: `F.relu`
/// Example: `relu(x)`
Tensor relu(const Tensor& x, Place = Place::here());
/// x for x > 0, otherwise slope x; the gradient at 0 is `slope`.
/// Elsewhere: `F.leaky_relu`
/// Example: `leaky_relu(x, 0.2)`
Tensor leaky_relu(const Tensor& x, double slope = 0.01, Place = Place::here());
/// x for x > 0, otherwise alpha (e^x - 1) (Clevert et al. 2016).
/// Elsewhere: `F.elu`
/// Example: `elu(x)`
Tensor elu(const Tensor& x, double alpha = 1, Place = Place::here());
/// x Phi(x), with the standard normal distribution function Phi (Hendrycks and Gimpel 2016).
/// Elsewhere: `F.gelu`; `gelu_tanh` is `approximate="tanh"`
/// Example: `gelu(x)`
Tensor gelu(const Tensor& x, Place = Place::here());
/// The approximation of gelu x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
/// Example: `gelu_tanh(x)`
Tensor gelu_tanh(const Tensor& x, Place = Place::here());
/// x sigmoid(x)
/// Elsewhere: `F.silu`, swish
/// Example: `silu(x)`
Tensor silu(const Tensor& x, Place = Place::here());
/// log(1 + e^x)
/// Elsewhere: `F.softplus`
/// Example: `softplus(x)`
Tensor softplus(const Tensor& x, Place = Place::here());
/// x limited to [low, high]; the gradient is 1 inside, on the bounds and at NaN, 0 outside.
/// Elsewhere: `torch.clamp`, `np.clip`
/// Example: `clamp(x, -1, 1)`
Tensor clamp(const Tensor& x, double low, double high, Place = Place::here());

namespace composite {
Tensor gelu(const Tensor& x);
}  // namespace composite

/// An operand of +, -, *, / or a comparison: a tensor, a parameter or a number, and the line it
/// appears on.
/// Example: `(1 + x) * y / 2 - x`
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

}  // namespace tapegrad::TAPEGRAD_SCALAR
