#pragma once

#include <span>

#include "tapegrad/core/precision.h"

// How the product c (m, n) = start + a (m, k) b (k, n) is blocked, and why.
//
// An element of c is a sum of k products. Computed element by element, each multiply-add loads two
// numbers from memory, which delivers far fewer than the processor can multiply. But each number
// of a is used n times, and each number of b m times. So we cut the product until the numbers that
// a piece reuses fit into memory that is fast enough. c is cut into tiles, a tile into panels, and
// a panel into blocks:
//
//         c in tiles                           one tile
//
//      +--------+--------+                     | panel | panel | panel |
//      |        |        |                     +-------+-------+-------+
//      | tile 0 | tile 2 |           terms  |  |   |   |       |       |
//      |        |        |           of k   |  |   |   |       |       |  b
//      +--------+--------+                  v  |   v   |       |       |
//      |        |        |       terms of k    +-------+-------+-------+
//      | tile 1 | tile 3 |      +------------+ +-------+-------+-------+
//      |        |        |      | ---------> | | block |       |       |  6 rows
//      +--------+--------+      +------------+ +-------+       |       |
//                               |            | | block |       |       |  6 rows
//        one per thread         +------------+ +-------+       |       |
//                               |     a      | |   .   |       |       |
//                               |            | |   .   |   c   |       |
//
// Registers: a block is 6 rows of c by the columns of one panel, which fill 4 registers (AVX2: 2).
// Its sums stay in registers throughout the loop over k. Each term loads 4 registers of b and 6
// numbers of a for 6 x 4 vector multiply-adds. A larger block would not fit: of 32 registers, 24
// hold sums, 4 hold b and one holds a number of a. AVX2 has 16, of which 12 hold sums. If few rows
// share a panel, blocks are 8 by 3 with AVX-512.
//
// Caches: all blocks of a panel read the same columns of b, which should stay in a cache meanwhile.
// So a piece has at most 512 terms, 512 columns and 192 rows. Between two pieces of k,
// c holds the sums. A panel that many rows read is first copied, so that its rows are contiguous;
// one that few rows read stays in place. a is read in place, unless its rows are columns in memory
// and far apart.
//
// Threads: each thread computes one tile alone, with panels of its own. A tile reads its rows of a
// and its columns of b, so a square one reads the least for its area. Most transposed
// matrices are also rearranged, so their side of a tile is the shorter one. A tile has at least
// 2^17 multiply-adds, since waking a thread takes time.
//
// Rounding: the error of a sum grows with the number of additions in a row, so k is cut as well. A
// chain of multiply-adds has at most 256 terms and begins at 0; its sum is added to c. Of more than
// 4096 terms, both halves are summed alone, and theirs again, so that the error grows with the
// logarithm of k:
//
//      k   |----------------------------------------------------------------|
//          |--------------------------------|-------------------------------|   halves
//          |----------------|---------------|---------------|---------------|   of halves
//          |--|--|--|--|--|--|-- ...                                              chains
//
// Where k is cut depends on k alone. Tiles, panels and blocks cut rows and columns only, so they do
// not change rounding, and the number of tiles may depend on the number of threads. A product with
// few rows (thin.h) has a chain for each lane of a vector, and the shape of the whole product
// decides that before any cut.
//
// Where to look: gemm.cpp makes tiles, panels.cpp panels and blocks. packed.h is a matrix whose
// panels are copied once for many products. thin.h is for so few rows that a copy never pays.
// bfloat16.h is for operands that count as rounded, which have blocks and panels of their own.

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// The most terms that are added one after the other.
constexpr Index chain = 256;

/// A row-major matrix in memory, optionally read transposed.
struct MatrixView {
  const real* values;
  Index stride;  ///< elements from one row to the next
  bool transposed = false;

  /// The part that starts at an element.
  MatrixView from(Index row, Index column) const {
    return {values + (transposed ? column * stride + row : row * stride + column), stride,
            transposed};
  }
};

/// The initial value of a product: rows `stride` elements apart (0: one row repeated), or zeros.
struct Start {
  const real* values = nullptr;
  Index stride = 0;

  Start from(Index row, Index column) const {
    return {values ? values + row * stride + column : nullptr, stride};
  }
};

/// c (m, n) = start + a (m, k) b (k, n) on the calling thread. c is row-major with rows `c_stride`
/// apart, and may be the start itself.
void gemm_serial(Index m, Index n, Index k, MatrixView a, MatrixView b, Start start, real* c,
                 Index c_stride, Precision precision = Precision::full);

/// Computes tiles of c on all threads, with the same bits for any number of threads.
void gemm(Index m, Index n, Index k, MatrixView a, MatrixView b, Start start, real* c,
          Index c_stride, Precision precision = Precision::full);

/// c (count, m, n) = many products of one shape: product i reads a from element a_offsets[i]
/// on, and b from element b_offsets[i] on. A task takes one product or several.
void gemm_batch(Index m, Index n, Index k, MatrixView a, std::span<const Index> a_offsets,
                MatrixView b, std::span<const Index> b_offsets, real* c, Precision precision);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
