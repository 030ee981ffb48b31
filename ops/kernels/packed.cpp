#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/ops/kernels/packed.cpp"
#include <hwy/foreach_target.h>
// The order matters: Highway includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "tapegrad/core/parallel.h"
#include "tapegrad/ops/kernels/math-inl.h"
#include "tapegrad/ops/kernels/packed.h"

HWY_BEFORE_NAMESPACE();
namespace tapegrad::kernels::HWY_NAMESPACE {
namespace {

// Accumulators for this many rows and two vectors of columns fit the registers.
constexpr Index most_rows = HWY_TARGET <= HWY_AVX3 ? 8 : 4;

// A panel is asked for this many rows early: weights that outgrow L2 come from afar.
constexpr Index ahead = 16;

Index panel_width() { return 2 * static_cast<Index>(hn::Lanes(Tag())); }

// c (rows, columns of one panel) = start + a (rows, k) times the panel.
template <Index rows>
void multiply_panel(Index k, const real* a, Index a_stride, const real* panel, const real* start,
                    Index start_stride, real* c, Index c_stride) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  Vector left[rows], right[rows];
  for (Index r = 0; r < rows; ++r) {
    left[r] = start ? hn::LoadU(d, start + r * start_stride) : hn::Zero(d);
    right[r] = start ? hn::LoadU(d, start + r * start_stride + lanes) : hn::Zero(d);
  }
  for (Index i = 0; i < k; ++i) {
    const Vector b_left = hn::Load(d, panel), b_right = hn::Load(d, panel + lanes);
    __builtin_prefetch(panel + 2 * ahead * lanes);
    __builtin_prefetch(panel + (2 * ahead + 1) * lanes);
    panel += 2 * lanes;
    for (Index r = 0; r < rows; ++r) {
      const Vector factor = hn::Set(d, a[r * a_stride + i]);
      left[r] = hn::MulAdd(factor, b_left, left[r]);
      right[r] = hn::MulAdd(factor, b_right, right[r]);
    }
  }
  for (Index r = 0; r < rows; ++r) {
    hn::StoreU(left[r], d, c + r * c_stride);
    hn::StoreU(right[r], d, c + r * c_stride + lanes);
  }
}

// Picks the function for the number of rows that are left.
template <Index rows>
void multiply_rows(Index m, Index k, const real* a, Index a_stride, const real* panel,
                   const real* start, Index start_stride, real* c, Index c_stride) {
  if constexpr (rows > 0) {
    for (; m >= rows; m -= rows, a += rows * a_stride, c += rows * c_stride) {
      multiply_panel<rows>(k, a, a_stride, panel, start, start_stride, c, c_stride);
      if (start) start += rows * start_stride;
    }
    if (m > 0) multiply_rows<rows / 2>(m, k, a, a_stride, panel, start, start_stride, c, c_stride);
  }
}

// The last panel when it is narrower than the others: by way of a copy.
void multiply_ragged(Index m, Index k, const real* a, Index a_stride, const real* panel,
                     const real* start, Index start_stride, Index columns, real* c,
                     Index c_stride) {
  HWY_ALIGN real rows[most_rows * 2 * hn::MaxLanes(Tag())];
  const Index width = panel_width();
  for (Index first = 0; first < m; first += most_rows) {
    const Index count = std::min(most_rows, m - first);
    for (Index r = 0; r < count && start; ++r)
      std::copy_n(start + (first + r) * start_stride, columns, rows + r * width);
    multiply_rows<most_rows>(count, k, a + first * a_stride, a_stride, panel,
                             start ? rows : nullptr, width, rows, width);
    for (Index r = 0; r < count; ++r)
      std::copy_n(rows + r * width, columns, c + (first + r) * c_stride);
  }
}

void multiply_packed(Index m, Index n, Index k, const real* a, Index a_stride, const real* panels,
                     const real* start, Index start_stride, real* c, Index c_stride) {
  const Index width = panel_width();
  for (Index column = 0; column < n; column += width, panels += k * width) {
    const real* from = start ? start + column : nullptr;
    if (column + width <= n)
      multiply_rows<most_rows>(m, k, a, a_stride, panels, from, start_stride, c + column, c_stride);
    else
      multiply_ragged(m, k, a, a_stride, panels, from, start_stride, n - column, c + column,
                      c_stride);
  }
}

}  // namespace

const PackedLoops* packed_here() {
  static constexpr PackedLoops loops{.panel_width = panel_width, .multiply = multiply_packed};
  return &loops;
}

}  // namespace tapegrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad::kernels {
HWY_EXPORT(packed_here);
static const PackedLoops& packed() {
  static const PackedLoops& best = *HWY_DYNAMIC_DISPATCH(packed_here)();
  return best;
}

Packed::Packed(Index k, Index n, Matrix b) : k_(k), n_(n) {
  const Index width = packed().panel_width();
  const Index count = (n + width - 1) / width;
  panels_ = Storage::allocate(sizeof(real) * std::max<Index>(1, count * width * k));
  parallel_for(count, [&](Index panel) {
    real* out = static_cast<real*>(panels_.data()) + panel * width * k;
    const Index first = panel * width, columns = std::min(width, n - first);
    if (columns < width) std::fill_n(out, width * k, real{0});
    if (b.transposed) {
      constexpr Index block = 64;  // rows of the panel that stay in the cache
      for (Index top = 0; top < k; top += block)
        for (Index j = 0; j < columns; ++j)
          for (Index i = top; i < std::min(k, top + block); ++i)
            out[i * width + j] = b.values[(first + j) * b.stride + i];
    } else {
      for (Index i = 0; i < k; ++i)
        std::copy_n(b.values + i * b.stride + first, columns, out + i * width);
    }
  });
}

void Packed::multiply(Index m, const real* a, Index a_stride, const real* start, Index start_stride,
                      real* c, Index c_stride) const {
  packed().multiply(m, n_, k_, a, a_stride, static_cast<const real*>(panels_.data()), start,
                    start_stride, c, c_stride);
}

}  // namespace tapegrad::kernels
#endif
