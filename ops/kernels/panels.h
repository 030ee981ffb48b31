#pragma once

#include "tapegrad/core/storage.h"
#include "tapegrad/ops/kernels/gemm.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// Products whose right-hand matrix is taken in panels of as many columns as the registers hold
/// sums for, and whose left-hand matrix is read where it is. BLAS rearranges both, in every call.
/// Rows of the benchmark take 0.86 (mlp_b4) to 0.95 (transformer) of the time that they take with
/// it.
struct PanelLoops {
  /// c (m, n) = start + a b
  void (*multiply)(Index m, Index n, Index k, Matrix a, Matrix b, Start start, real* c,
                   Index c_stride);
  /// b (k, n) rearranged: one panel after the other, row after row. Takes `packed_size(k, n)`.
  void (*pack)(Index k, Index n, Matrix b, real* panels);
  /// c (m, n) = start + a (m, k) times what `pack` left; the last panel first if `reversed`
  void (*multiply_packed)(Index m, Index n, Index k, Matrix a, const real* panels, Start start,
                          real* c, Index c_stride, bool reversed);
};

const PanelLoops& panel_loops();

/// Columns of the widest panel, for any instruction set.
constexpr Index panel_columns = 64;
constexpr Index packed_size(Index k, Index n) {
  return (n + panel_columns - 1) / panel_columns * panel_columns * k;
}

/// A matrix (k, n) rearranged once for many products with few rows each, as a recurrent layer makes
/// them. An LSTM step of 32 x 2048 x 512 takes 0.7 of the time that BLAS takes, which packs at
/// every call.
class Packed {
 public:
  Packed(Index k, Index n, Matrix b);

  /// c (m, n) = start (may be c) + a (m, k) times the matrix, on the calling thread. Each element
  /// is one chain of multiply-adds over k, whatever m: how rows are grouped does not change bits.
  /// Nor does it when the last columns come first (`reversed`): products that alternate find in the
  /// cache what the one before has read last.
  void multiply(Index m, Matrix a, Start start, real* c, Index c_stride, bool reversed) const;

 private:
  Index k_, n_;
  Storage panels_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
