#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/ops/kernels/norm.cpp"
#include <hwy/foreach_target.h>
// The order matters: Highway includes this file once for each instruction set.
#include <hwy/highway.h>

#include <cmath>

#include "tapegrad/ops/kernels/math-inl.h"
#include "tapegrad/ops/kernels/norm.h"

HWY_BEFORE_NAMESPACE();
namespace tapegrad::kernels::HWY_NAMESPACE {
namespace {

struct SquaredDistance {
  const real* x;
  real centre;
  Vector add(Vector total, Index i) const {
    const Vector c = hn::Sub(hn::LoadU(Tag(), x + i), hn::Set(Tag(), centre));
    return hn::MulAdd(c, c, total);
  }
  real at(Index i) const { return (x[i] - centre) * (x[i] - centre); }
};
real forward(const real* x, Index count, real epsilon, real* y) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const real mean = sum_of(count, Value{x}) / static_cast<real>(count);
  const real variance = sum_of(count, SquaredDistance{x, mean}) / static_cast<real>(count);
  const real inverse_scale = 1 / std::sqrt(variance + epsilon);
  const Vector centre = hn::Set(d, mean), factor = hn::Set(d, inverse_scale);
  Index i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::Mul(hn::Sub(hn::LoadU(d, x + i), centre), factor), d, y + i);
  for (; i < count; ++i) y[i] = (x[i] - mean) * inverse_scale;
  return inverse_scale;
}

void backward(const real* g, const real* y, Index count, real inverse_scale, bool mean_term,
              bool scale_term, real* dx) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const real mean = mean_term ? sum_of(count, Value{g}) / static_cast<real>(count) : 0;
  const real slope = scale_term ? sum_of(count, Product{g, y}) / static_cast<real>(count) : 0;
  const Vector shift = hn::Set(d, mean), along = hn::Set(d, slope),
               factor = hn::Set(d, inverse_scale);
  Index i = 0;
  for (; i + lanes <= count; i += lanes) {
    const Vector centred = hn::Sub(hn::LoadU(d, g + i), shift);
    const Vector projected = hn::NegMulAdd(along, hn::LoadU(d, y + i), centred);
    hn::StoreU(hn::Mul(projected, factor), d, dx + i);
  }
  for (; i < count; ++i) dx[i] = (g[i] - mean - slope * y[i]) * inverse_scale;
}

}  // namespace

const Norm* norm_here() {
  static constexpr Norm loops{.forward = forward, .backward = backward};
  return &loops;
}

}  // namespace tapegrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad::kernels {
HWY_EXPORT(norm_here);
const Norm& norm() {
  static const Norm& best = *HWY_DYNAMIC_DISPATCH(norm_here)();
  return best;
}
}  // namespace tapegrad::kernels
#endif
