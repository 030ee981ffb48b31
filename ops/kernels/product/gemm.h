#pragma once

#include <span>

#include "tapegrad/core/real.h"

// How a product c (m, n) = start + a (m, k) b (k, n) is cut, and why.
//
// An element of c is a sum of k products. Computed one element after another, each multiply-add
// needs two numbers from memory, which delivers far fewer than the processor can multiply. But each
// number of a is needed n times, and each of b m times. So the product is cut until the numbers
// that a piece needs again and again lie in a place that is fast enough for it. c is cut into
// tiles, a tile into panels, and a panel into blocks:
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
//        for each thread        +------------+ +-------+       |       |
//              one              |     a      | |   .   |       |       |
//                               |            | |   .   |   c   |       |
//
// Registers: a block is 6 rows of c by the columns of one panel, as many as 4 registers hold (with
// AVX2: 2). Its sums stay in registers while the terms of k pass by. A term brings 4 registers of b
// and 6 numbers of a, and these make 6 x 4 multiply-adds of registers. More would not fit: of 32
// registers 24 hold sums, 4 numbers of b and one a number of a; AVX2 has 16, of which 12 hold sums.
// Where few rows share a panel, blocks are 8 by 3.
//
// Caches: all blocks of a panel read the same columns of b, which should stay in a cache meanwhile.
// So no more than 512 terms and 512 columns are at hand at a time, and 192 rows. Between two pieces
// of k, c holds the sums. A panel that many rows will read is copied first, so that its rows lie
// one after the other; one that few will read stays where it is. a is always read in place, unless
// its rows are columns in memory and far apart.
//
// Threads: each computes a tile by itself, with panels of its own. A tile reads its rows of a and
// its columns of b; a square one reads the least for its area. It has 2^17 multiply-adds at least,
// since waking a thread takes time.
//
// Bits: none depends on the cut. What is cut among blocks, panels and tiles are rows and columns.
// An element is one chain of multiply-adds over k, from the first term to the last, wherever it
// lies, and when its sum passes through c it loses no digit. So the number of tiles may follow from
// the number of threads. Only a product with few rows (thin.h) is summed in another order; what
// decides is the shape of the whole product, before anything is cut.
//
// Next: gemm.cpp cuts tiles, panels.cpp panels and blocks; packed.h is a matrix whose panels are
// copied once for many products; thin.h is for so few rows that a copy never pays.

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// A row-major matrix in memory, read transposed if asked.
struct MatrixView {
  const real* values;
  Index stride;  ///< elements from one row to the next
  bool transposed = false;

  /// From an element on.
  MatrixView from(Index row, Index column) const {
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

/// c (m, n) = start + a (m, k) b (k, n) on the calling thread. c is row-major with rows `c_stride`
/// apart, and may be the start itself.
void gemm_serial(Index m, Index n, Index k, MatrixView a, MatrixView b, Start start, real* c,
                 Index c_stride);

/// The same in tiles of c on all threads, with the same bits for any number of them.
void gemm(Index m, Index n, Index k, MatrixView a, MatrixView b, Start start, real* c,
          Index c_stride);

/// c (count, m, n) = many products of one shape: product i reads its matrix of a from element
/// a_offsets[i] on, and that of b from b_offsets[i] on. A task takes one product or several.
void gemm_batch(Index m, Index n, Index k, MatrixView a, std::span<const Index> a_offsets,
                MatrixView b, std::span<const Index> b_offsets, real* c);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
