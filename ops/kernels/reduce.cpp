#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/ops/kernels/reduce.cpp"
#include <hwy/foreach_target.h>
// The order matters: Highway includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tapegrad/core/machine/instruction_set.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/machine/profile.h"
#include "tapegrad/ops/kernels/math-inl.h"
#include "tapegrad/ops/kernels/reduce.h"
#include "tapegrad/ops/kernels/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE {
namespace {

real sum(const real* x, Index count) { return sum_of(count, Value{x}); }
real dot(const real* a, const real* b, Index count) { return sum_of(count, Product{a, b}); }

// The greater of two; NaN if either is NaN.
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

template <Index rows, class Access>
Vector sum_in_pairs(Access at, const real* x, Index stride) {
  if constexpr (rows == 1) {
    return at.load(x);
  } else {
    return hn::Add(sum_in_pairs<rows / 2>(at, x, stride),
                   sum_in_pairs<rows / 2>(at, x + rows / 2 * stride, stride));
  }
}

template <Index rows>
void accumulate_together(const real* x, Index stride, real* total, Index count) {
  for_vectors(count, [=](const auto& at, Index i) HWY_ATTR {
    at.store(hn::Add(at.load(total + i), sum_in_pairs<rows>(at, x + i, stride)), total + i);
  });
}

void accumulate(const real* x, real* total, Index count) {
  accumulate_together<1>(x, 0, total, count);
}

// Totals stay in a register for some rows, and memory delivers these at the same time.
void accumulate_rows(const real* x, Index rows, Index stride, real* total, Index count) {
  constexpr Index together = 8;
  for (; rows >= together; rows -= together, x += together * stride)
    accumulate_together<together>(x, stride, total, count);
  for (; rows > 0; --rows, x += stride) accumulate(x, total, count);
}

void sum_columns(const real* x, Index rows, Index stride, real* total, Index count) {
  for (Index i = 0; i < count; i += column_tile) {
    const Index width = std::min(column_tile, count - i);
    sum_by_halves<column_tile>(0, rows, width, total + i, [=](Index first, Index some, real* sums) {
      accumulate_rows(x + first * stride + i, some, stride, sums, width);
    });
  }
}

}  // namespace

const Reduce* reduce_here() {
  static constexpr Reduce loops{
      .sum = sum, .dot = dot, .max = max, .accumulate = accumulate, .sum_columns = sum_columns};
  return &loops;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad::TAPEGRAD_SCALAR::kernels {
HWY_EXPORT(reduce_here);
const Reduce& reduce() {
  return detail::dispatched([] { return HWY_DYNAMIC_DISPATCH(reduce_here)(); });
}

namespace {

// How many pieces of `elements` elements make a task worthwhile.
Index pieces_of_task(Index elements) {
  return std::max<Index>(1, elements_per_tile / std::max<Index>(1, elements));
}

// y (columns) = the sums of x (rows, columns). A long sum is cut into tasks.
void sum_matrix(const real* x, Index rows, Index columns, real* y) {
  const Index grain = pieces_of_task(columns);
  if (rows <= grain) {
    if (columns == 1)
      y[0] = reduce().sum(x, rows);
    else
      reduce().sum_columns(x, rows, columns, y, columns);
    return;
  }
  const Scratch partial((rows + grain - 1) / grain * columns);
  parallel_ranges(rows, grain, [&](Index begin, Index end) {
    sum_matrix(x + begin * columns, end - begin, columns, partial.data() + begin / grain * columns);
  });
  sum_matrix(partial.data(), (rows + grain - 1) / grain, columns, y);
}

void sum_rows(const real* x, Index rows, Index length, real* y) {
  parallel_ranges(rows, pieces_of_task(length), [&](Index begin, Index end) {
    for (Index row = begin; row < end; ++row) y[row] = reduce().sum(x + row * length, length);
  });
}

// Each thread gets columns, in whole cache lines.
void sum_columns(const AlongAxis& shape, const real* x, real* y) {
  const Index outer = shape.outer, length = shape.length, inner = shape.inner;
  const Index width = std::clamp<Index>(outer * inner / threads() / 16 * 16, 16, column_tile);
  const Index tiles = (inner + width - 1) / width;
  parallel_ranges(outer * tiles, pieces_of_task(length * std::min(inner, width)),
                  [&](Index begin, Index end) {
                    for (Index task = begin; task < end; ++task) {
                      const Index o = task / tiles, first = task % tiles * width;
                      reduce().sum_columns(x + o * length * inner + first, length, inner,
                                           y + o * inner + first, std::min(width, inner - first));
                    }
                  });
}

void count_reduction(const AlongAxis& shape) {
  const Index columns = shape.outer * shape.inner;
  count_pass(columns * shape.length, columns);
}

}  // namespace

void sum(const AlongAxis& shape, const real* x, real* y) {
  count_reduction(shape);
  if (shape.outer == 1 && shape.inner <= column_tile)
    sum_matrix(x, shape.length, shape.inner, y);
  else if (shape.inner != 1)
    sum_columns(shape, x, y);
  else
    sum_rows(x, shape.outer, shape.length, y);
}

void max(const AlongAxis& shape, const real* x, real* y) {
  count_reduction(shape);
  const Index outer = shape.outer, length = shape.length, inner = shape.inner;
  parallel_ranges(outer, pieces_of_task(length * std::max<Index>(inner, 1)),
                  [&](Index begin, Index end) {
                    std::vector<real> column(length);
                    for (Index o = begin; o < end; ++o)
                      for (Index i = 0; i < inner; ++i) {
                        for (Index r = 0; r < length; ++r)
                          column[r] = x[(o * length + r) * inner + i];
                        y[o * inner + i] = reduce().max(column.data(), length);
                      }
                  });
}

double scaled_norm(const real* x, Index count) {
  real largest = 0;
  for (Index i = 0; i < count; ++i) largest = std::max(largest, std::abs(x[i]));
  if (largest == 0 || std::isinf(largest)) return largest;
  double squares = 0;
  for (Index first = 0; first < count; first += column_tile) {
    real scaled[column_tile];
    const Index width = std::min(column_tile, count - first);
    for (Index i = 0; i < width; ++i) scaled[i] = x[first + i] / largest;
    squares += reduce().dot(scaled, scaled, width);
  }
  return largest * std::sqrt(squares);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
#endif
