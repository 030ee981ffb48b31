#pragma once

#include "tapegrad/ops/kernels/product/gemm.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// Rows of keys or values (rows, heads, width).
struct HeadRows {
  Index heads, width, rows;
};

/// c (m, n) = or += a (m, k) b^T with at most `thin` rows; b (n, k) is row-major. Reads each row of
/// b once, for all rows of a. Transposing b first would take longer than the product.
struct ThinLoops {
  void (*dots)(Index m, Index n, Index k, const real* a, Index a_stride, const real* b,
               Index b_stride, bool accumulate, real* c, Index c_stride);
  /// c (heads, rows) = the dot products of a (heads, width) with each row of b, head by head
  void (*head_dots)(HeadRows size, const real* a, const real* b, Index b_stride, real* c);
  /// c (heads, width) += the rows of b, each times its weights a (heads, rows)
  void (*add_head_sums)(HeadRows size, const real* a, const real* b, Index b_stride, real* c);
};

const ThinLoops& thin_loops();

constexpr Index thin = 8;

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
