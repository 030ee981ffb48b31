#pragma once

#include "tapegrad/ops/kernels/product/gemm.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// One tile of a product, panel by panel and block by block, on the calling thread (gemm.h has the
/// picture). Benchmark rows take 5 % (transformer) to 14 % (mlp_b4) less time than with BLAS, which
/// rearranges both matrices in every call.
struct PanelLoops {
  /// c (m, n) = start + a b
  void (*multiply)(Index m, Index n, Index k, MatrixView a, MatrixView b, Start start, real* c,
                   Index c_stride);
  /// Rearranges b (k, n) panel by panel, each row by row. `panels` holds `packed_size(k, n)`
  /// numbers.
  void (*pack)(Index k, Index n, MatrixView b, real* panels);
  /// c (m, n) = start + a (m, k) times a packed b; the last panel first if `reversed`
  void (*multiply_packed)(Index m, Index n, Index k, MatrixView a, const real* panels, Start start,
                          real* c, Index c_stride, bool reversed);
};

const PanelLoops& panel_loops();

/// Columns of the widest panel, for any instruction set.
constexpr Index panel_columns = 64;
constexpr Index packed_size(Index k, Index n) {
  return (n + panel_columns - 1) / panel_columns * panel_columns * k;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
