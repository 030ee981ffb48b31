// Vector functions for the instruction set being compiled. By Highway's scheme, this file is
// included once for each.

#if defined(TAPEGRAD_KERNELS_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TAPEGRAD_KERNELS_MATH_INL_H
#undef TAPEGRAD_KERNELS_MATH_INL_H
#else
#define TAPEGRAD_KERNELS_MATH_INL_H
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tapegrad/core/real.h"

HWY_BEFORE_NAMESPACE();
namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<real>;
using Vector = hn::Vec<Tag>;

inline Vector constant(double value) { return hn::Set(Tag(), static_cast<real>(value)); }

// Loads the first `count` lanes from x. The others are 1, which every function accepts.
inline Vector load_first(const real* x, Index count) {
  const Tag d;
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN real lanes[hn::MaxLanes(d)];
  std::fill(std::copy_n(x, count, lanes), lanes + hn::Lanes(d), real{1});
  return hn::Load(d, lanes);
#else
  const auto present = hn::FirstN(d, static_cast<std::size_t>(count));
  return hn::IfThenElse(present, hn::MaskedLoad(present, d, x), hn::Set(d, real{1}));
#endif
}

// Stores the first `count` lanes.
inline void store_first(Vector v, real* y, Index count) {
  const Tag d;
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN real lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  std::copy_n(lanes, count, y);
#else
  hn::BlendedStore(v, hn::FirstN(d, static_cast<std::size_t>(count)), d, y);
#endif
}

// Highway's functions are accurate for ordinary arguments. These functions correct the exceptional
// cases.

inline Vector exp_of(Vector x) {
  const Tag d;
  const double overflow = sizeof(real) == 4 ? 88.72283935546875 : 709.782712893384;
  const Vector y = hn::Exp(d, hn::Min(x, constant(overflow)));
  const Vector limited = hn::IfThenElse(hn::Gt(x, constant(overflow)), hn::Inf(d), y);
  return hn::IfThenElse(hn::IsNaN(x), x, limited);
}

inline Vector log_of(Vector x) {
  const Tag d;
  const Vector zero = hn::Zero(d);
  Vector y = hn::Log(d, x);
  y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(hn::Inf(d)), y);
  y = hn::IfThenElse(hn::Eq(x, hn::Inf(d)), x, y);
  const Vector not_a_number = constant(std::numeric_limits<double>::quiet_NaN());
  return hn::IfThenElse(hn::Ge(x, zero), y, not_a_number);
}

inline Vector tanh_of(Vector x) {
  const Tag d;
  const Vector limit = constant(sizeof(real) == 4 ? 10 : 20);
  const Vector inside = hn::Max(hn::Min(x, limit), hn::Neg(limit));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Tanh(d, inside));
}

inline Vector sigmoid_of(Vector x) {
  const Vector one = constant(1);
  return hn::Div(one, hn::Add(one, exp_of(hn::Neg(x))));
}

// The normal distribution: Phi(x) and its density.
struct Normal {
  Vector cdf, density;
};

inline Normal normal_of(Vector x) {
  const Tag d;
  const Vector e = exp_of(hn::Mul(constant(-0.5), hn::Mul(x, x)));
  const Vector density = hn::Mul(e, constant(0.3989422804014327));
#ifdef TAPEGRAD_DOUBLE
  HWY_ALIGN real lanes[hn::MaxLanes(d)];
  hn::Store(x, d, lanes);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i)
    lanes[i] = 0.5 * std::erfc(-lanes[i] * 0.7071067811865476);
  return {hn::Load(d, lanes), density};
#else
  // erfc(z) = e^(-z^2) t P(t) with t = 1 / (1 + 0.42 z), to a relative error of 1.7e-7. P is a
  // least-squares fit, weighted towards the largest error.
  const Vector z = hn::Mul(hn::Abs(x), constant(0.7071067811865476));
  const Vector t = hn::Div(constant(1), hn::MulAdd(z, constant(0.42), constant(1)));
  Vector p = constant(7.0235974245e-02);
  for (const double c : {-3.2027613452e-01, 4.4070532921e-01, -1.3055485962e-01, 2.6875672235e-01,
                         1.9472221263e-01, 2.3958638399e-01, 2.3682420336e-01})
    p = hn::MulAdd(p, t, constant(c));
  const Vector tail = hn::Mul(hn::Mul(constant(0.5), e), hn::Mul(p, t));
  const Vector positive = hn::Sub(constant(1), tail);
  return {hn::IfThenElse(hn::Gt(x, hn::Zero(d)), positive, tail), density};
#endif
}

// Four running sums hide the latency of addition. A block ends after 512 terms per sum, which keeps
// rounding small for rows of any length and for any number of lanes.
template <class Term>
inline real sum_of(Index count, const Term& term) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const Index block = 512 * 4 * lanes;
  real total = 0;
  for (Index i = 0; i < count;) {
    const Index end = std::min(count, i + block);
    Vector s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    for (; i + 4 * lanes <= end; i += 4 * lanes) {
      s0 = term.add(s0, i);
      s1 = term.add(s1, i + lanes);
      s2 = term.add(s2, i + 2 * lanes);
      s3 = term.add(s3, i + 3 * lanes);
    }
    for (; i + lanes <= end; i += lanes) s0 = term.add(s0, i);
    total += hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
    for (; i < end; ++i) total += term.at(i);
  }
  return total;
}

struct Value {
  const real* x;
  Vector add(Vector total, Index i) const { return hn::Add(total, hn::LoadU(Tag(), x + i)); }
  real at(Index i) const { return x[i]; }
};
struct Product {
  const real *a, *b;
  Vector add(Vector total, Index i) const {
    return hn::MulAdd(hn::LoadU(Tag(), a + i), hn::LoadU(Tag(), b + i), total);
  }
  real at(Index i) const { return a[i] * b[i]; }
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
