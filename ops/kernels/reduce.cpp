#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/ops/kernels/reduce.cpp"
#include <hwy/foreach_target.h>
// The order matters: Highway includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tapegrad/core/instruction_set.h"
#include "tapegrad/ops/kernels/math-inl.h"
#include "tapegrad/ops/kernels/reduce.h"

HWY_BEFORE_NAMESPACE();
namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE {
namespace {

real sum(const real* x, Index count) { return sum_of(count, Value{x}); }
real dot(const real* a, const real* b, Index count) { return sum_of(count, Product{a, b}); }

// The greater one; keeps NaN once it is there, and takes it when it comes.
real greater(real greatest, real v) { return greatest > v || std::isnan(greatest) ? greatest : v; }

real max(const real* x, Index count) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  real result = -std::numeric_limits<real>::infinity();
  if (count < lanes) {
    for (Index i = 0; i < count; ++i) result = greater(result, x[i]);
    return result;
  }
  Vector greatest = hn::LoadU(d, x);
  for (Index i = lanes; i < count; i += lanes) {
    // The last vector may overlap the one before.
    const Vector v = hn::LoadU(d, x + std::min(i, count - lanes));
    greatest = hn::IfThenElse(hn::Or(hn::Gt(greatest, v), hn::IsNaN(greatest)), greatest, v);
  }
  if (!hn::AllFalse(d, hn::IsNaN(greatest))) return std::numeric_limits<real>::quiet_NaN();
  return hn::GetLane(hn::MaxOfLanes(d, greatest));
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

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad::TAPEGRAD_SCALAR::kernels {
HWY_EXPORT(reduce_here);
const Reduce& reduce() {
  static const Reduce& best =
      *detail::dispatched([] { return HWY_DYNAMIC_DISPATCH(reduce_here)(); });
  return best;
}
}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
#endif
