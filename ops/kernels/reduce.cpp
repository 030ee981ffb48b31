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
