#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/ops/kernels/norm.cpp"
#include <hwy/foreach_target.h>
// The order matters: Highway includes this file once for each instruction set.
#include <hwy/highway.h>

#include <cmath>

#include "tapegrad/core/instruction_set.h"
#include "tapegrad/ops/kernels/math-inl.h"
#include "tapegrad/ops/kernels/norm.h"

HWY_BEFORE_NAMESPACE();
namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE {
namespace {

struct SquaredDistance {
  const real* x;
  real center;
  Vector add(Vector total, Index i) const {
    const Vector c = hn::Sub(hn::LoadU(Tag(), x + i), hn::Set(Tag(), center));
    return hn::MulAdd(c, c, total);
  }
  real at(Index i) const { return (x[i] - center) * (x[i] - center); }
};

RowScale scale_of(const RowNorm& norm, real moment) {
  const real scale =
      norm.outside_root ? std::sqrt(moment) + norm.epsilon : std::sqrt(moment + norm.epsilon);
  if (!norm.outside_root) return {1 / scale, 1 / norm.divisor};
  return {1 / scale, moment > 0 ? scale / (std::sqrt(moment) * norm.divisor) : 0};
}

RowScale forward(const RowNorm& norm, const real* x, Index count, real* y) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const real mean = norm.centered ? sum_of(count, Value{x}) / static_cast<real>(count) : 0;
  const RowScale scale = scale_of(norm, sum_of(count, SquaredDistance{x, mean}) / norm.divisor);
  const Vector center = hn::Set(d, mean), factor = hn::Set(d, scale.inverse);
  Index i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(hn::Mul(hn::Sub(hn::LoadU(d, x + i), center), factor), d, y + i);
  for (; i < count; ++i) y[i] = (x[i] - mean) * scale.inverse;
  return scale;
}

void backward(const RowNorm& norm, RowScale scale, const real* g, const real* y, Index count,
              real* dx) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const bool mean_term = norm.centered && !norm.detached_mean;
  const real mean = mean_term ? sum_of(count, Value{g}) / static_cast<real>(count) : 0;
  const real along = norm.detached_scale ? 0 : sum_of(count, Product{g, y}) * scale.slope;
  const Vector shift = hn::Set(d, mean), projection = hn::Set(d, along),
               factor = hn::Set(d, scale.inverse);
  Index i = 0;
  for (; i + lanes <= count; i += lanes) {
    const Vector centered = hn::Sub(hn::LoadU(d, g + i), shift);
    const Vector projected = hn::NegMulAdd(projection, hn::LoadU(d, y + i), centered);
    hn::StoreU(hn::Mul(projected, factor), d, dx + i);
  }
  for (; i < count; ++i) dx[i] = (g[i] - mean - along * y[i]) * scale.inverse;
}

// Sums many columns at a time, row by row. The compiler vectorizes the inner loops.
constexpr Index most_columns = 64;

void forward_columns(const RowNorm& norm, const real* x, Index rows, Index stride, Index count,
                     real* y, real* inverses, real* slopes) {
  real mean[most_columns] = {}, moment[most_columns] = {};
  if (norm.centered) {
    for (Index r = 0; r < rows; ++r)
      for (Index i = 0; i < count; ++i) mean[i] += x[r * stride + i];
    for (Index i = 0; i < count; ++i) mean[i] /= static_cast<real>(rows);
  }
  for (Index r = 0; r < rows; ++r)
    for (Index i = 0; i < count; ++i) {
      const real distance = x[r * stride + i] - mean[i];
      moment[i] += distance * distance;
    }
  for (Index i = 0; i < count; ++i) {
    const RowScale scale = scale_of(norm, moment[i] / norm.divisor);
    inverses[i] = scale.inverse;
    slopes[i] = scale.slope;
  }
  for (Index r = 0; r < rows; ++r)
    for (Index i = 0; i < count; ++i)
      y[r * stride + i] = (x[r * stride + i] - mean[i]) * inverses[i];
}

void backward_columns(const RowNorm& norm, const real* inverses, const real* slopes, const real* g,
                      const real* y, Index rows, Index stride, Index count, real* dx) {
  real mean[most_columns] = {}, along[most_columns] = {};
  for (Index r = 0; r < rows; ++r)
    for (Index i = 0; i < count; ++i) {
      mean[i] += g[r * stride + i];
      along[i] += g[r * stride + i] * y[r * stride + i];
    }
  const bool mean_term = norm.centered && !norm.detached_mean;
  for (Index i = 0; i < count; ++i) {
    mean[i] = mean_term ? mean[i] / static_cast<real>(rows) : 0;
    along[i] = norm.detached_scale ? 0 : along[i] * slopes[i];
  }
  for (Index r = 0; r < rows; ++r)
    for (Index i = 0; i < count; ++i) {
      const Index at = r * stride + i;
      dx[at] = (g[at] - mean[i] - along[i] * y[at]) * inverses[i];
    }
}

void affine(const real* y, const real* gain, const real* bias, Index count, real* z) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  Index i = 0;
  for (; i + lanes <= count; i += lanes) {
    const Vector shift = bias ? hn::LoadU(d, bias + i) : hn::Zero(d);
    hn::StoreU(hn::MulAdd(hn::LoadU(d, y + i), hn::LoadU(d, gain + i), shift), d, z + i);
  }
  for (; i < count; ++i) z[i] = y[i] * gain[i] + (bias ? bias[i] : 0);
}

void affine_back(const real* g, const real* y, const real* gain, Index count, real* dy,
                 real* d_gain, real* d_bias) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  Index i = 0;
  for (; i + lanes <= count; i += lanes) {
    const Vector slope = hn::LoadU(d, g + i);
    if (d_gain)
      hn::StoreU(hn::MulAdd(slope, hn::LoadU(d, y + i), hn::LoadU(d, d_gain + i)), d, d_gain + i);
    if (d_bias) hn::StoreU(hn::Add(slope, hn::LoadU(d, d_bias + i)), d, d_bias + i);
    hn::StoreU(hn::Mul(slope, hn::LoadU(d, gain + i)), d, dy + i);
  }
  for (; i < count; ++i) {
    if (d_gain) d_gain[i] += g[i] * y[i];
    if (d_bias) d_bias[i] += g[i];
    dy[i] = g[i] * gain[i];
  }
}

}  // namespace

const NormLoops* norm_here() {
  static constexpr NormLoops loops{.forward = forward,
                                   .backward = backward,
                                   .forward_columns = forward_columns,
                                   .backward_columns = backward_columns,
                                   .most_columns = most_columns,
                                   .affine = affine,
                                   .affine_back = affine_back};
  return &loops;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad::TAPEGRAD_SCALAR::kernels {
HWY_EXPORT(norm_here);
const NormLoops& norm() {
  static const NormLoops& best =
      *detail::dispatched([] { return HWY_DYNAMIC_DISPATCH(norm_here)(); });
  return best;
}
}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
#endif
