#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/ops/kernels/elementwise.cpp"
#include <hwy/foreach_target.h>
// The order matters: Highway includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "tapegrad/core/machine/instruction_set.h"
#include "tapegrad/ops/kernels/elementwise.h"
#include "tapegrad/ops/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE {
namespace {

template <Vector (*f)(Vector)>
void map(const real* x, real* y, Index count) {
  for_vectors(count, [=](const auto& at, Index i) HWY_ATTR { at.store(f(at.load(x + i)), y + i); });
}

template <Vector (*f)(Vector, Vector), bool a_single, bool b_single>
void zip(const real* a, const real* b, real* y, Index count) {
  const Vector fixed_a = hn::Set(Tag(), a_single ? *a : real{1});
  const Vector fixed_b = hn::Set(Tag(), b_single ? *b : real{1});
  for_vectors(count, [=](const auto& at, Index i) HWY_ATTR {
    const Vector va = a_single ? fixed_a : at.load(a + i);
    const Vector vb = b_single ? fixed_b : at.load(b + i);
    at.store(f(va, vb), y + i);
  });
}

template <Vector (*f)(Vector, Vector)>
void zip_any(Span a, Span b, real* y, Index count) {
  if (count == 0) return;
  if (a.single)
    b.single ? zip<f, true, true>(a.values, b.values, y, count)
             : zip<f, true, false>(a.values, b.values, y, count);
  else
    b.single ? zip<f, false, true>(a.values, b.values, y, count)
             : zip<f, false, false>(a.values, b.values, y, count);
}

// Functions that are rarely hot use the C++ library, element by element.
template <real (*f)(real)>
void each(const real* x, real* y, Index count) {
  for (Index i = 0; i < count; ++i) y[i] = f(x[i]);
}
real expm1_of(real x) { return std::expm1(x); }
real log1p_of(real x) { return std::log1p(x); }
real sin_of(real x) { return std::sin(x); }
real cos_of(real x) { return std::cos(x); }
real erf_of(real x) { return std::erf(x); }
real softplus_of(real x) { return std::max(x, real{0}) + std::log1p(std::exp(-std::abs(x))); }

void pow_each(Span a, Span b, real* y, Index count) {
  for (Index i = 0; i < count; ++i)
    y[i] = std::pow(a.values[a.single ? 0 : i], b.values[b.single ? 0 : i]);
}

inline Vector neg(Vector x) { return hn::Neg(x); }
inline Vector abs(Vector x) { return hn::Abs(x); }
inline Vector sign(Vector x) {
  const Vector zero = constant(0);
  const Vector positive = hn::IfThenElse(hn::Gt(x, zero), constant(1), x);
  return hn::IfThenElse(hn::Lt(x, zero), constant(-1), positive);
}
inline Vector floor(Vector x) { return hn::Floor(x); }
inline Vector ceil(Vector x) { return hn::Ceil(x); }
inline Vector round(Vector x) { return hn::Round(x); }
inline Vector sqrt(Vector x) { return hn::Sqrt(x); }
inline Vector rsqrt(Vector x) { return hn::Div(constant(1), hn::Sqrt(x)); }
inline Vector square(Vector x) { return hn::Mul(x, x); }
inline Vector reciprocal(Vector x) { return hn::Div(constant(1), x); }
// Not max(x, 0), so that NaN stays NaN.
inline Vector relu(Vector x) { return hn::IfThenElse(hn::Le(x, constant(0)), constant(0), x); }

inline Vector gelu(Vector x) { return hn::Mul(x, normal_of(x).cdf); }
inline Vector gelu_slope(Vector g, Vector x) {
  const Normal normal = normal_of(x);
  return hn::Mul(g, hn::MulAdd(x, normal.density, normal.cdf));
}

inline Vector add(Vector a, Vector b) { return hn::Add(a, b); }
inline Vector sub(Vector a, Vector b) { return hn::Sub(a, b); }
inline Vector mul(Vector a, Vector b) { return hn::Mul(a, b); }
inline Vector div(Vector a, Vector b) { return hn::Div(a, b); }
// NaN in either operand wins.
inline Vector minimum(Vector a, Vector b) {
  return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b);
}
inline Vector maximum(Vector a, Vector b) {
  return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b);
}
inline Vector gate(Vector a, Vector b) { return hn::IfThenZeroElse(hn::Le(b, constant(0)), a); }
inline Vector weigh(Vector a, Vector b) {
  return hn::IfThenZeroElse(hn::Eq(b, constant(0)), hn::Mul(a, b));
}

template <class M>
Vector one_where(M mask) {
  return hn::IfThenElseZero(mask, constant(1));
}
inline Vector is_finite(Vector x) { return one_where(hn::IsFinite(x)); }
inline Vector equal(Vector a, Vector b) { return one_where(hn::Eq(a, b)); }
inline Vector chosen(Vector a, Vector b) { return one_where(hn::Or(hn::Eq(a, b), hn::IsNaN(a))); }
Vector share_where(Vector a, Vector b, Vector wins) {
  return hn::IfThenElse(hn::Eq(a, b), constant(0.5), wins);
}
inline Vector minimum_share(Vector a, Vector b) {
  return share_where(a, b, one_where(hn::Or(hn::Lt(a, b), hn::IsNaN(a))));
}
inline Vector maximum_share(Vector a, Vector b) {
  return share_where(a, b, one_where(hn::Or(hn::Gt(a, b), hn::IsNaN(a))));
}
// Not hn::Ne, which is false for NaN with some instruction sets.
inline Vector not_equal(Vector a, Vector b) { return one_where(hn::Not(hn::Eq(a, b))); }
inline Vector less(Vector a, Vector b) { return one_where(hn::Lt(a, b)); }
inline Vector less_equal(Vector a, Vector b) { return one_where(hn::Le(a, b)); }
inline Vector greater(Vector a, Vector b) { return one_where(hn::Gt(a, b)); }
inline Vector greater_equal(Vector a, Vector b) { return one_where(hn::Ge(a, b)); }

}  // namespace

const Elementwise* elementwise_here() {
  static constexpr Elementwise loops{
      .neg = map<neg>,
      .abs = map<abs>,
      .sign = map<sign>,
      .floor = map<floor>,
      .ceil = map<ceil>,
      .round = map<round>,
      .isfinite = map<is_finite>,
      .exp = map<exp_of>,
      .expm1 = each<expm1_of>,
      .log = map<log_of>,
      .log1p = each<log1p_of>,
      .sqrt = map<sqrt>,
      .rsqrt = map<rsqrt>,
      .square = map<square>,
      .reciprocal = map<reciprocal>,
      .sin = each<sin_of>,
      .cos = each<cos_of>,
      .tanh = map<tanh_of>,
      .erf = each<erf_of>,
      .sigmoid = map<sigmoid_of>,
      .relu = map<relu>,
      .softplus = each<softplus_of>,
      .gelu = map<gelu>,
      .add = zip_any<add>,
      .sub = zip_any<sub>,
      .mul = zip_any<mul>,
      .div = zip_any<div>,
      .pow = pow_each,
      .minimum = zip_any<minimum>,
      .maximum = zip_any<maximum>,
      .equal = zip_any<equal>,
      .not_equal = zip_any<not_equal>,
      .less = zip_any<less>,
      .less_equal = zip_any<less_equal>,
      .greater = zip_any<greater>,
      .greater_equal = zip_any<greater_equal>,
      .gate = zip_any<gate>,
      .weigh = zip_any<weigh>,
      .chosen = zip_any<chosen>,
      .minimum_share = zip_any<minimum_share>,
      .maximum_share = zip_any<maximum_share>,
      .gelu_slope = zip_any<gelu_slope>,
  };
  return &loops;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad::TAPEGRAD_SCALAR::kernels {
HWY_EXPORT(elementwise_here);
const Elementwise& elementwise() {
  return detail::dispatched([] { return HWY_DYNAMIC_DISPATCH(elementwise_here)(); });
}
}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
#endif
