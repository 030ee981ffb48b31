#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/ops/kernels/norm.cpp"
#include <hwy/foreach_target.h>
// The order matters: Highway includes this file once for each instruction set.
#include <hwy/highway.h>

#include <cmath>
#include <type_traits>

#include "tapegrad/core/machine/instruction_set.h"
#include "tapegrad/ops/kernels/math-inl.h"
#include "tapegrad/ops/kernels/norm.h"

HWY_BEFORE_NAMESPACE();
namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE {
namespace {

struct Distance {
  const real* x;
  real center;
  Vector add(Vector total, Index i) const {
    return hn::Add(total, hn::Sub(hn::LoadU(Tag(), x + i), hn::Set(Tag(), center)));
  }
  real at(Index i) const { return x[i] - center; }
};

struct SquaredDistance {
  const real* x;
  real center;
  Vector add(Vector total, Index i) const {
    const Vector c = hn::Sub(hn::LoadU(Tag(), x + i), hn::Set(Tag(), center));
    return hn::MulAdd(c, c, total);
  }
  real at(Index i) const { return (x[i] - center) * (x[i] - center); }
};

struct Scale {
  real inverse, slope;
};
Scale scale_of(const RowNorm& norm, real moment) {
  const real scale =
      norm.outside_root ? std::sqrt(moment) + norm.epsilon : std::sqrt(moment + norm.epsilon);
  if (!norm.outside_root) return {1 / scale, 1 / norm.divisor};
  return {1 / scale, moment > 0 ? scale / (std::sqrt(moment) * norm.divisor) : 0};
}

// Calls body(first, std::integral_constant<Index, count>) for groups of neighbouring rows.
template <class Body>
void for_rows(Index rows, const Body& body) {
  Index r = 0;
  for (; r + rows_at_once <= rows; r += rows_at_once)
    body(r, std::integral_constant<Index, rows_at_once>());
  for (; r < rows; ++r) body(r, std::integral_constant<Index, 1>());
}

// A mean is taken from the first element on, so that the mean of equal elements is their value.
template <Index rows>
void forward_rows(const RowNorm& norm, const real* x, Index count, real* y, real* inverses,
                  real* slopes) {
  real mean[rows] = {};
  if (norm.centered)
    for (Index r = 0; r < rows; ++r)
      mean[r] = x[r * count] +
                sum_of(count, Distance{x + r * count, x[r * count]}) / static_cast<real>(count);
  Scale scale[rows];
  for (Index r = 0; r < rows; ++r)
    scale[r] =
        scale_of(norm, sum_of(count, SquaredDistance{x + r * count, mean[r]}) / norm.divisor);
  for (Index r = 0; r < rows; ++r, x += count, y += count) {
    inverses[r] = scale[r].inverse;
    slopes[r] = scale[r].slope;
    const Vector center = hn::Set(Tag(), mean[r]), factor = hn::Set(Tag(), scale[r].inverse);
    for_vectors(count, [=](const auto& at, Index i) HWY_ATTR {
      at.store(hn::Mul(hn::Sub(at.load(x + i), center), factor), y + i);
    });
  }
}

void forward(const RowNorm& norm, const real* x, Index rows, Index count, real* y, real* inverses,
             real* slopes) {
  for_rows(rows, [&](Index r, auto group) {
    forward_rows<group()>(norm, x + r * count, count, y + r * count, inverses + r, slopes + r);
  });
}

template <Index rows>
void backward_rows(const RowNorm& norm, const real* inverses, const real* slopes, const real* g,
                   const real* y, Index count, real* dx) {
  real mean[rows] = {}, along[rows] = {};
  for (Index r = 0; r < rows; ++r) {
    if (norm.centered && !norm.detached_mean)
      mean[r] = sum_of(count, Value{g + r * count}) / static_cast<real>(count);
    if (!norm.detached_scale)
      along[r] = sum_of(count, Product{g + r * count, y + r * count}) * slopes[r];
  }
  const Tag d;
  for (Index r = 0; r < rows; ++r, g += count, y += count, dx += count) {
    const Vector shift = hn::Set(d, mean[r]), projection = hn::Set(d, along[r]),
                 factor = hn::Set(d, inverses[r]);
    for_vectors(count, [=](const auto& at, Index i) HWY_ATTR {
      const Vector centered = hn::Sub(at.load(g + i), shift);
      const Vector projected = hn::NegMulAdd(projection, at.load(y + i), centered);
      at.store(hn::Mul(projected, factor), dx + i);
    });
  }
}

void backward(const RowNorm& norm, const real* inverses, const real* slopes, const real* g,
              const real* y, Index rows, Index count, real* dx) {
  for_rows(rows, [&](Index r, auto group) {
    backward_rows<group()>(norm, inverses + r, slopes + r, g + r * count, y + r * count, count,
                           dx + r * count);
  });
}

// Sums many columns at a time, row by row. The compiler vectorizes the inner loops.
constexpr Index most_columns = 64;

// totals[i] = the sums of term(r, i) over rows.
template <class Term>
void sum_columns(Index rows, Index count, real* totals, const Term& term) {
  sum_by_halves<most_columns>(0, rows, count, totals, [&](Index first, Index some, real* sums) {
    for (Index r = first; r < first + some; ++r)
      for (Index i = 0; i < count; ++i) sums[i] += term(r, i);
  });
}

void forward_columns(const RowNorm& norm, const real* x, Index rows, Index stride, Index count,
                     real* y, real* inverses, real* slopes) {
  real mean[most_columns] = {}, moment[most_columns];
  if (norm.centered) {
    sum_columns(rows, count, mean, [=](Index r, Index i) { return x[r * stride + i] - x[i]; });
    for (Index i = 0; i < count; ++i) mean[i] = x[i] + mean[i] / static_cast<real>(rows);
  }
  sum_columns(rows, count, moment, [&](Index r, Index i) {
    const real distance = x[r * stride + i] - mean[i];
    return distance * distance;
  });
  for (Index i = 0; i < count; ++i) {
    const Scale scale = scale_of(norm, moment[i] / norm.divisor);
    inverses[i] = scale.inverse;
    slopes[i] = scale.slope;
  }
  for (Index r = 0; r < rows; ++r)
    for (Index i = 0; i < count; ++i)
      y[r * stride + i] = (x[r * stride + i] - mean[i]) * inverses[i];
}

void backward_columns(const RowNorm& norm, const real* inverses, const real* slopes, const real* g,
                      const real* y, Index rows, Index stride, Index count, real* dx) {
  real sums[2 * most_columns];
  real *mean = sums, *along = sums + count;
  sum_by_halves<2 * most_columns>(0, rows, 2 * count, sums,
                                  [&](Index first, Index some, real* part) {
                                    for (Index r = first; r < first + some; ++r)
                                      for (Index i = 0; i < count; ++i) {
                                        part[i] += g[r * stride + i];
                                        part[count + i] += g[r * stride + i] * y[r * stride + i];
                                      }
                                  });
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

void affine(const real* y, const real* gain, const real* bias, Index rows, Index count, real* z) {
  for (Index r = 0; r < rows; ++r, y += count, z += count)
    for_vectors(count, [=](const auto& at, Index i) HWY_ATTR {
      const Vector shift = bias ? at.load(bias + i) : constant(0);
      at.store(hn::MulAdd(at.load(y + i), at.load(gain + i), shift), z + i);
    });
}

void affine_back(const real* g, const real* y, const real* gain, Index rows, Index count, real* dy,
                 real* d_gain, real* d_bias) {
  for (Index r = 0; r < rows; ++r, g += count, y += count, dy += count)
    for_vectors(count, [=](const auto& at, Index i) HWY_ATTR {
      const Vector slope = at.load(g + i);
      if (d_gain) at.store(hn::MulAdd(slope, at.load(y + i), at.load(d_gain + i)), d_gain + i);
      if (d_bias) at.store(hn::Add(slope, at.load(d_bias + i)), d_bias + i);
      at.store(hn::Mul(slope, at.load(gain + i)), dy + i);
    });
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
  return detail::dispatched([] { return HWY_DYNAMIC_DISPATCH(norm_here)(); });
}
}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
#endif
