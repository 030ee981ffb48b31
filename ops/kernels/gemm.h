#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::kernels {

/// A row-major matrix in memory, read transposed if asked.
struct Matrix {
  const real* values;
  Index stride;  ///< elements from one row to the next
  bool transposed = false;
};

/// Tells the profile of `count` products of (m, k) and (k, n).
void count_products(Index count, Index m, Index n, Index k);

/// c = a b, or c += a b: (m, k) times (k, n) on the calling thread. c is row-major with rows
/// `c_stride` apart.
void gemm_serial(Index m, Index n, Index k, Matrix a, Matrix b, bool accumulate, real* c,
                 Index c_stride);

/// The same in tiles of c, cut by shape only, on all threads.
void gemm(Index m, Index n, Index k, Matrix a, Matrix b, bool accumulate, real* c, Index c_stride);

}  // namespace tapegrad::kernels
