#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/ops/kernels/reduce.cpp"
#include <hwy/foreach_target.h>
// The order matters: Highway includes this file once for each instruction set.
#include <hwy/highway.h>

#include <cmath>
#include <limits>

#include "tapegrad/ops/kernels/math-inl.h"
#include "tapegrad/ops/kernels/reduce.h"

HWY_BEFORE_NAMESPACE();
namespace tapegrad::kernels::HWY_NAMESPACE {
namespace {

// Four running sums hide the latency of addition and keep rounding small.
template <class Term>
real sum_of(Index count, const Term& term) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  Vector s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  Index i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    s0 = term.add(s0, i);
    s1 = term.add(s1, i + lanes);
    s2 = term.add(s2, i + 2 * lanes);
    s3 = term.add(s3, i + 3 * lanes);
  }
  for (; i + lanes <= count; i += lanes) s0 = term.add(s0, i);
  real total = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  for (; i < count; ++i) total += term.at(i);
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

real sum(const real* x, Index count) { return sum_of(count, Value{x}); }
real dot(const real* a, const real* b, Index count) { return sum_of(count, Product{a, b}); }

real max(const real* x, Index count) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  Vector greatest = hn::Neg(hn::Inf(d));
  Index i = 0;
  for (; i + lanes <= count; i += lanes) {
    const Vector v = hn::LoadU(d, x + i);
    // Keeps NaN once it is there, and takes it when it comes.
    greatest = hn::IfThenElse(hn::Or(hn::Gt(greatest, v), hn::IsNaN(greatest)), greatest, v);
  }
  HWY_ALIGN real candidates[hn::MaxLanes(d)];
  hn::Store(greatest, d, candidates);
  real result = -std::numeric_limits<real>::infinity();
  const auto take = [&](real v) { result = result > v || std::isnan(result) ? result : v; };
  for (Index lane = 0; lane < lanes; ++lane) take(candidates[lane]);
  for (; i < count; ++i) take(x[i]);
  return result;
}

void accumulate(const real* x, real* total, Index count) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  Index i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::Add(hn::LoadU(d, total + i), hn::LoadU(d, x + i)), d, total + i);
  for (; i < count; ++i) total[i] += x[i];
}

}  // namespace

const Reduce* reduce_here() {
  static constexpr Reduce loops{.sum = sum, .dot = dot, .max = max, .accumulate = accumulate};
  return &loops;
}

}  // namespace tapegrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad::kernels {
HWY_EXPORT(reduce_here);
const Reduce& reduce() {
  static const Reduce& best = *HWY_DYNAMIC_DISPATCH(reduce_here)();
  return best;
}
}  // namespace tapegrad::kernels
#endif
