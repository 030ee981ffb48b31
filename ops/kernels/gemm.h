#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// A row-major matrix in memory, read transposed if asked.
struct Matrix {
  const real* values;
  Index stride;  ///< elements from one row to the next
  bool transposed = false;

  /// From an element on.
  Matrix from(Index row, Index column) const {
    return {values + (transposed ? column * stride + row : row * stride + column), stride,
            transposed};
  }
};

/// What a product begins from: rows `stride` elements apart (0: the same row every time), or zeros.
struct Start {
  const real* values = nullptr;
  Index stride = 0;

  Start from(Index row, Index column) const {
    return {values ? values + row * stride + column : nullptr, stride};
  }
};

/// Tells the profile of `count` products of (m, k) and (k, n).
void count_products(Index count, Index m, Index n, Index k);

/// c (m, n) = start + a (m, k) b (k, n) on the calling thread. c is row-major with rows `c_stride`
/// apart, and may be the start itself.
void gemm_serial(Index m, Index n, Index k, Matrix a, Matrix b, Start start, real* c,
                 Index c_stride);

/// The same in tiles of c on all threads, with the same bits for any number of them.
void gemm(Index m, Index n, Index k, Matrix a, Matrix b, Start start, real* c, Index c_stride);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
