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

// Runs `f` over whole vectors, and over part of one for the rest.
template <class F>
void map(const real* x, real* y, Index count) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  Index i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(F()(hn::LoadU(d, x + i)), d, y + i);
  if (i < count) store_first(F()(load_first(x + i, count - i)), y + i, count - i);
}

template <class F, bool a_single, bool b_single>
void zip(const real* a, const real* b, real* y, Index count) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const Vector fixed_a = hn::Set(d, a_single ? *a : real{1});
  const Vector fixed_b = hn::Set(d, b_single ? *b : real{1});
  Index i = 0;
  for (; i + lanes <= count; i += lanes) {
    const Vector va = a_single ? fixed_a : hn::LoadU(d, a + i);
    const Vector vb = b_single ? fixed_b : hn::LoadU(d, b + i);
    hn::StoreU(F()(va, vb), d, y + i);
  }
  if (i == count) return;
  const Vector va = a_single ? fixed_a : load_first(a + i, count - i);
  const Vector vb = b_single ? fixed_b : load_first(b + i, count - i);
  store_first(F()(va, vb), y + i, count - i);
}

template <class F>
void zip_any(Span a, Span b, real* y, Index count) {
  if (count == 0) return;
  if (a.single)
    b.single ? zip<F, true, true>(a.values, b.values, y, count)
             : zip<F, true, false>(a.values, b.values, y, count);
  else
    b.single ? zip<F, false, true>(a.values, b.values, y, count)
             : zip<F, false, false>(a.values, b.values, y, count);
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

struct Neg {
  Vector operator()(Vector x) const { return hn::Neg(x); }
};
struct Abs {
  Vector operator()(Vector x) const { return hn::Abs(x); }
};
struct Sign {
  Vector operator()(Vector x) const {
    const Vector zero = constant(0);
    const Vector positive = hn::IfThenElse(hn::Gt(x, zero), constant(1), x);
    return hn::IfThenElse(hn::Lt(x, zero), constant(-1), positive);
  }
};
struct Floor {
  Vector operator()(Vector x) const { return hn::Floor(x); }
};
struct Ceil {
  Vector operator()(Vector x) const { return hn::Ceil(x); }
};
struct Round {
  Vector operator()(Vector x) const { return hn::Round(x); }
};
struct Exp {
  Vector operator()(Vector x) const { return exp_of(x); }
};
struct Log {
  Vector operator()(Vector x) const { return log_of(x); }
};
struct Sqrt {
  Vector operator()(Vector x) const { return hn::Sqrt(x); }
};
struct Rsqrt {
  Vector operator()(Vector x) const { return hn::Div(constant(1), hn::Sqrt(x)); }
};
struct Square {
  Vector operator()(Vector x) const { return hn::Mul(x, x); }
};
struct Reciprocal {
  Vector operator()(Vector x) const { return hn::Div(constant(1), x); }
};
struct Tanh {
  Vector operator()(Vector x) const { return tanh_of(x); }
};
struct Sigmoid {
  Vector operator()(Vector x) const { return sigmoid_of(x); }
};
// Not max(x, 0), so that NaN stays NaN.
struct Relu {
  Vector operator()(Vector x) const {
    return hn::IfThenElse(hn::Le(x, constant(0)), constant(0), x);
  }
};

struct Gelu {
  Vector operator()(Vector x) const { return hn::Mul(x, normal_of(x).cdf); }
};
struct GeluSlope {
  Vector operator()(Vector g, Vector x) const {
    const Normal normal = normal_of(x);
    return hn::Mul(g, hn::MulAdd(x, normal.density, normal.cdf));
  }
};

struct Add {
  Vector operator()(Vector a, Vector b) const { return hn::Add(a, b); }
};
struct Sub {
  Vector operator()(Vector a, Vector b) const { return hn::Sub(a, b); }
};
struct Mul {
  Vector operator()(Vector a, Vector b) const { return hn::Mul(a, b); }
};
struct Div {
  Vector operator()(Vector a, Vector b) const { return hn::Div(a, b); }
};
// NaN in either operand wins.
struct Minimum {
  Vector operator()(Vector a, Vector b) const {
    return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b);
  }
};
struct Maximum {
  Vector operator()(Vector a, Vector b) const {
    return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b);
  }
};
struct Gate {
  Vector operator()(Vector a, Vector b) const {
    return hn::IfThenZeroElse(hn::Le(b, constant(0)), a);
  }
};
struct Weigh {
  Vector operator()(Vector a, Vector b) const {
    return hn::IfThenZeroElse(hn::Eq(b, constant(0)), hn::Mul(a, b));
  }
};

template <class M>
Vector one_where(M mask) {
  return hn::IfThenElseZero(mask, constant(1));
}
struct IsFinite {
  Vector operator()(Vector x) const { return one_where(hn::IsFinite(x)); }
};
struct Equal {
  Vector operator()(Vector a, Vector b) const { return one_where(hn::Eq(a, b)); }
};
struct Chosen {
  Vector operator()(Vector a, Vector b) const {
    return one_where(hn::Or(hn::Eq(a, b), hn::IsNaN(a)));
  }
};
Vector share_where(Vector a, Vector b, Vector wins) {
  return hn::IfThenElse(hn::Eq(a, b), constant(0.5), wins);
}
struct MinimumShare {
  Vector operator()(Vector a, Vector b) const {
    return share_where(a, b, one_where(hn::Or(hn::Lt(a, b), hn::IsNaN(a))));
  }
};
struct MaximumShare {
  Vector operator()(Vector a, Vector b) const {
    return share_where(a, b, one_where(hn::Or(hn::Gt(a, b), hn::IsNaN(a))));
  }
};
// Not hn::Ne, which is false for NaN with some instruction sets.
struct NotEqual {
  Vector operator()(Vector a, Vector b) const { return one_where(hn::Not(hn::Eq(a, b))); }
};
struct Less {
  Vector operator()(Vector a, Vector b) const { return one_where(hn::Lt(a, b)); }
};
struct LessEqual {
  Vector operator()(Vector a, Vector b) const { return one_where(hn::Le(a, b)); }
};
struct Greater {
  Vector operator()(Vector a, Vector b) const { return one_where(hn::Gt(a, b)); }
};
struct GreaterEqual {
  Vector operator()(Vector a, Vector b) const { return one_where(hn::Ge(a, b)); }
};

}  // namespace

const Elementwise* elementwise_here() {
  static constexpr Elementwise loops{
      .neg = map<Neg>,
      .abs = map<Abs>,
      .sign = map<Sign>,
      .floor = map<Floor>,
      .ceil = map<Ceil>,
      .round = map<Round>,
      .isfinite = map<IsFinite>,
      .exp = map<Exp>,
      .expm1 = each<expm1_of>,
      .log = map<Log>,
      .log1p = each<log1p_of>,
      .sqrt = map<Sqrt>,
      .rsqrt = map<Rsqrt>,
      .square = map<Square>,
      .reciprocal = map<Reciprocal>,
      .sin = each<sin_of>,
      .cos = each<cos_of>,
      .tanh = map<Tanh>,
      .erf = each<erf_of>,
      .sigmoid = map<Sigmoid>,
      .relu = map<Relu>,
      .softplus = each<softplus_of>,
      .gelu = map<Gelu>,
      .add = zip_any<Add>,
      .sub = zip_any<Sub>,
      .mul = zip_any<Mul>,
      .div = zip_any<Div>,
      .pow = pow_each,
      .minimum = zip_any<Minimum>,
      .maximum = zip_any<Maximum>,
      .equal = zip_any<Equal>,
      .not_equal = zip_any<NotEqual>,
      .less = zip_any<Less>,
      .less_equal = zip_any<LessEqual>,
      .greater = zip_any<Greater>,
      .greater_equal = zip_any<GreaterEqual>,
      .gate = zip_any<Gate>,
      .weigh = zip_any<Weigh>,
      .chosen = zip_any<Chosen>,
      .minimum_share = zip_any<MinimumShare>,
      .maximum_share = zip_any<MaximumShare>,
      .gelu_slope = zip_any<GeluSlope>,
  };
  return &loops;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad::TAPEGRAD_SCALAR::kernels {
HWY_EXPORT(elementwise_here);
const Elementwise& elementwise() {
  static const Elementwise& best =
      *detail::dispatched([] { return HWY_DYNAMIC_DISPATCH(elementwise_here)(); });
  return best;
}
}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
#endif
