#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tapegrad/ops/kernels/product/thin.cpp"
#include <hwy/foreach_target.h>
// The order matters: Highway includes this file once for each instruction set.
#include <hwy/highway.h>

#include <algorithm>

#include "tapegrad/core/machine/instruction_set.h"
#include "tapegrad/ops/kernels/math-inl.h"
#include "tapegrad/ops/kernels/product/thin.h"
#include "tapegrad/ops/kernels/reduce.h"
#include "tapegrad/ops/kernels/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE {
namespace {

// c (rows, n) = or += a (rows, k) b (n, k)^T: reads each row of b once for all rows of a.
template <Index rows>
void multiply_dots(Index n, Index k, const real* a, Index a_stride, const real* b, Index b_stride,
                   bool accumulate, real* c, Index c_stride) {
  const Tag d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  for (Index j = 0; j < n; ++j, b += b_stride)
    for (Index first = 0, i = 0; first < k; first = i) {
      const Index last = std::min(k, first + chain * lanes);
      Vector sums[rows];
      for (Index r = 0; r < rows; ++r) sums[r] = hn::Zero(d);
      for (; i + lanes <= last; i += lanes) {
        const Vector values = hn::LoadU(d, b + i);
        for (Index r = 0; r < rows; ++r)
          sums[r] = hn::MulAdd(hn::LoadU(d, a + r * a_stride + i), values, sums[r]);
      }
      for (Index r = 0; r < rows; ++r) {
        real sum = hn::GetLane(hn::SumOfLanes(d, sums[r]));
        for (Index rest = i; rest < last; ++rest) sum += a[r * a_stride + rest] * b[rest];
        real& out = c[r * c_stride + j];
        out = accumulate || first > 0 ? out + sum : sum;
      }
      i = last;
    }
}

// Groups of 8, 4, 2 and 1 rows.
template <Index rows = thin>
void dots(Index m, Index n, Index k, const real* a, Index a_stride, const real* b, Index b_stride,
          bool accumulate, real* c, Index c_stride) {
  for (; m >= rows; m -= rows, a += rows * a_stride, c += rows * c_stride)
    multiply_dots<rows>(n, k, a, a_stride, b, b_stride, accumulate, c, c_stride);
  if constexpr (rows > 1)
    dots<rows / 2>(m, n, k, a, a_stride, b, b_stride, accumulate, c, c_stride);
}

// All heads read a row before the next one: memory delivers rows fastest in their order.
void head_dots(HeadRows size, const real* a, const real* b, Index b_stride, real* c) {
  for (Index row = 0; row < size.rows; ++row, b += b_stride)
    for (Index h = 0; h < size.heads; ++h)
      c[h * size.rows + row] = sum_of(size.width, Product{a + h * size.width, b + h * size.width});
}

void add_head_sums(HeadRows size, const real* a, const real* b, Index b_stride, real* c) {
  const Index width = size.heads * size.width;
  const Scratch sums(width);
  std::fill_n(sums.data(), width, real{0});
  for (Index row = 0; row < size.rows; ++row, b += b_stride)
    for (Index h = 0; h < size.heads; ++h) {
      const real *weight = a + h * size.rows + row, *from = b + h * size.width;
      real* sum = sums.data() + h * size.width;
      for_vectors(size.width, [=](const auto& at, Index i) HWY_ATTR {
        at.store(hn::MulAdd(hn::Set(Tag(), *weight), at.load(from + i), at.load(sum + i)), sum + i);
      });
    }
  reduce().accumulate(sums.data(), c, width);
}

}  // namespace

const ThinLoops* thin_here() {
  static constexpr ThinLoops loops{
      .dots = dots<>, .head_dots = head_dots, .add_head_sums = add_head_sums};
  return &loops;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tapegrad::TAPEGRAD_SCALAR::kernels {
HWY_EXPORT(thin_here);
const ThinLoops& thin_loops() {
  return detail::dispatched([] { return HWY_DYNAMIC_DISPATCH(thin_here)(); });
}
}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
#endif
