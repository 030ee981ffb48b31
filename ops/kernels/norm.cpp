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

// The sum over i of term(vector at i), with two running sums; what does not fill a vector is read
// through `rest`, which pads with zeros.
template <class Term>
real sum_rows(Index count, const Term& term) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  Vector s0 = hn::Zero(d), s1 = s0;
  Index i = 0;
  for (; i + 2 * lanes <= count; i += 2 * lanes) {
    s0 = hn::Add(s0, term(i));
    s1 = hn::Add(s1, term(i + lanes));
  }
  for (; i + lanes <= count; i += lanes) s0 = hn::Add(s0, term(i));
  real total = hn::GetLane(hn::SumOfLanes(d, hn::Add(s0, s1)));
  for (; i < count; ++i) total += term.at(i);
  return total;
}

struct Sum {
  const real* x;
  Vector operator()(Index i) const { return hn::LoadU(Tag(), x + i); }
  real at(Index i) const { return x[i]; }
};
struct SquaredDistance {
  const real* x;
  real centre;
  Vector operator()(Index i) const {
    const Vector c = hn::Sub(hn::LoadU(Tag(), x + i), hn::Set(Tag(), centre));
    return hn::Mul(c, c);
  }
  real at(Index i) const { return (x[i] - centre) * (x[i] - centre); }
};
struct Dot {
  const real *a, *b;
  Vector operator()(Index i) const {
    return hn::Mul(hn::LoadU(Tag(), a + i), hn::LoadU(Tag(), b + i));
  }
  real at(Index i) const { return a[i] * b[i]; }
};

real forward(const real* x, Index count, real epsilon, real* y) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const real mean = sum_rows(count, Sum{x}) / static_cast<real>(count);
  const real variance = sum_rows(count, SquaredDistance{x, mean}) / static_cast<real>(count);
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
  const real mean = mean_term ? sum_rows(count, Sum{g}) / static_cast<real>(count) : 0;
  const real slope = scale_term ? sum_rows(count, Dot{g, y}) / static_cast<real>(count) : 0;
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
