#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/ops/kernels/thin.cpp"
#include <hwy/foreach_target.h>
// The order matters: Highway includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

#include "tapegrad/ops/kernels/math-inl.h"
#include "tapegrad/ops/kernels/thin.h"

HWY_BEFORE_NAMESPACE();
namespace tapegrad::kernels::HWY_NAMESPACE {
namespace {

// c (rows, n) += a (rows, terms) b (terms, n): c stays in the first cache while b streams by.
template <Index rows, Index terms>
void add_terms(Index n, const real* a, Index a_stride, const real* b, Index b_stride, real* c,
               Index c_stride) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  Index j = 0;
  for (; j + lanes <= n; j += lanes) {
    Vector sums[rows];
    for (Index r = 0; r < rows; ++r) sums[r] = hn::LoadU(d, c + r * c_stride + j);
    for (Index i = 0; i < terms; ++i) {
      const Vector values = hn::LoadU(d, b + i * b_stride + j);
      for (Index r = 0; r < rows; ++r)
        sums[r] = hn::MulAdd(hn::Set(d, a[r * a_stride + i]), values, sums[r]);
    }
    for (Index r = 0; r < rows; ++r) hn::StoreU(sums[r], d, c + r * c_stride + j);
  }
  for (; j < n; ++j)
    for (Index r = 0; r < rows; ++r)
      for (Index i = 0; i < terms; ++i)
        c[r * c_stride + j] += a[r * a_stride + i] * b[i * b_stride + j];
}

template <Index rows>
void multiply_rows(Index n, Index k, const real* a, Index a_stride, const real* b, Index b_stride,
                   bool accumulate, real* c, Index c_stride) {
  for (Index r = 0; r < rows && !accumulate; ++r) std::fill_n(c + r * c_stride, n, real{0});
  constexpr Index terms = 4;
  Index i = 0;
  for (; i + terms <= k; i += terms)
    add_terms<rows, terms>(n, a + i, a_stride, b + i * b_stride, b_stride, c, c_stride);
  for (; i < k; ++i)
    add_terms<rows, 1>(n, a + i, a_stride, b + i * b_stride, b_stride, c, c_stride);
}

// c (rows, n) = or += a (rows, k) b (n, k)^T: a row of b is read once for all rows of a.
template <Index rows>
void multiply_dots(Index n, Index k, const real* a, Index a_stride, const real* b, Index b_stride,
                   bool accumulate, real* c, Index c_stride) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  for (Index j = 0; j < n; ++j, b += b_stride) {
    Vector sums[rows];
    for (Index r = 0; r < rows; ++r) sums[r] = hn::Zero(d);
    Index i = 0;
    for (; i + lanes <= k; i += lanes) {
      const Vector values = hn::LoadU(d, b + i);
      for (Index r = 0; r < rows; ++r)
        sums[r] = hn::MulAdd(hn::LoadU(d, a + r * a_stride + i), values, sums[r]);
    }
    for (Index r = 0; r < rows; ++r) {
      real sum = hn::GetLane(hn::SumOfLanes(d, sums[r]));
      for (Index rest = i; rest < k; ++rest) sum += a[r * a_stride + rest] * b[rest];
      real& out = c[r * c_stride + j];
      out = accumulate ? out + sum : sum;
    }
  }
}

// c (m, n) = or += a (terms, m)^T b (terms, n)
template <Index terms>
void multiply_outer(Index m, Index n, const real* a, Index a_stride, const real* b, Index b_stride,
                    bool accumulate, real* c, Index c_stride) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  for (Index r = 0; r < m; ++r, ++a, c += c_stride) {
    Vector factors[terms];
    for (Index i = 0; i < terms; ++i) factors[i] = hn::Set(d, a[i * a_stride]);
    Index j = 0;
    for (; j + lanes <= n; j += lanes) {
      Vector sum = accumulate ? hn::LoadU(d, c + j) : hn::Zero(d);
      for (Index i = 0; i < terms; ++i)
        sum = hn::MulAdd(factors[i], hn::LoadU(d, b + i * b_stride + j), sum);
      hn::StoreU(sum, d, c + j);
    }
    for (; j < n; ++j) {
      real sum = accumulate ? c[j] : real{0};
      for (Index i = 0; i < terms; ++i) sum += a[i * a_stride] * b[i * b_stride + j];
      c[j] = sum;
    }
  }
}

// Calls `multiply` for groups of 8, 4, 2 and 1 rows or terms, with the size as a constant.
template <Index size = thin, class Multiply>
void in_groups(Index count, Index first, const Multiply& multiply) {
  for (; count >= size; count -= size, first += size)
    multiply(std::integral_constant<Index, size>(), first);
  if constexpr (size > 1) in_groups<size / 2>(count, first, multiply);
}

void rows(Index m, Index n, Index k, const real* a, Index a_stride, const real* b, Index b_stride,
          bool accumulate, real* c, Index c_stride) {
  in_groups(m, 0, [=](auto size, Index first) HWY_ATTR {
    multiply_rows<size>(n, k, a + first * a_stride, a_stride, b, b_stride, accumulate,
                        c + first * c_stride, c_stride);
  });
}

void dots(Index m, Index n, Index k, const real* a, Index a_stride, const real* b, Index b_stride,
          bool accumulate, real* c, Index c_stride) {
  in_groups(m, 0, [=](auto size, Index first) HWY_ATTR {
    multiply_dots<size>(n, k, a + first * a_stride, a_stride, b, b_stride, accumulate,
                        c + first * c_stride, c_stride);
  });
}

void outer(Index m, Index n, Index k, const real* a, Index a_stride, const real* b, Index b_stride,
           bool accumulate, real* c, Index c_stride) {
  in_groups(k, 0, [=](auto size, Index first) HWY_ATTR {
    multiply_outer<size>(m, n, a + first * a_stride, a_stride, b + first * b_stride, b_stride,
                         accumulate || first > 0, c, c_stride);
  });
}

}  // namespace

const ThinLoops* thin_here() {
  static constexpr ThinLoops loops{.rows = rows, .dots = dots, .outer = outer};
  return &loops;
}

}  // namespace tapegrad::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad::kernels {
HWY_EXPORT(thin_here);
const ThinLoops& thin_loops() {
  static const ThinLoops& best = *HWY_DYNAMIC_DISPATCH(thin_here)();
  return best;
}

}  // namespace tapegrad::kernels
#endif
