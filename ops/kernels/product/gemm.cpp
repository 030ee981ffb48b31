#include "tapegrad/ops/kernels/product/gemm.h"

#include <algorithm>
#include <limits>

#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/machine/profile.h"
#include "tapegrad/ops/kernels/product/bfloat16.h"
#include "tapegrad/ops/kernels/product/panels.h"
#include "tapegrad/ops/kernels/product/thin.h"
#include "tapegrad/ops/kernels/reduce.h"
#include "tapegrad/ops/kernels/scratch.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {
namespace {

// The number of multiply-adds that make a tile worthwhile.
constexpr Index smallest_tile = Index{1} << 17;

// Terms that are not halved, and the elements of a tile whose terms are: each half has its sums.
constexpr Index most_terms = 4096, most_sums = Index{1} << 20;

// Each thread gets at most one tile, unless terms are halved. The largest takes the least time, in
// multiply-adds: reading a number takes as long as 16, and twice that in a transposed matrix.
struct Tiles {
  Index rows, columns;  // of one tile
  Index down, across;   // number of tiles
  Index time = std::numeric_limits<Index>::max();
};
Tiles tiles_for(Index m, Index n, Index k, bool a_transposed, bool b_transposed) {
  const Index count = std::max(std::clamp<Index>(m * n * k / smallest_tile, 1, threads()),
                               k > most_terms ? (m * n + most_sums - 1) / most_sums : 1);
  const Index a_reading = a_transposed ? 32 : 16, b_reading = b_transposed ? 32 : 16;
  const auto pieces = [](Index whole, Index part) { return (whole + part - 1) / part; };
  Tiles best{};
  for (Index down = 1; down <= count; ++down) {
    const Index rows = pieces(pieces(m, down), 6) * 6;
    const Index columns = pieces(pieces(n, count / down), 16) * 16;
    const Index time = rows * columns + a_reading * rows + b_reading * columns;
    if (time < best.time) best = {rows, columns, pieces(m, rows), pieces(n, columns), time};
  }
  return best;
}

void count_products(Index count, Index m, Index n, Index k, Precision precision) {
  const double flops = 2 * static_cast<double>(count * m * n * k);
  const auto numbers = static_cast<double>(count * (m * k + k * n + m * n));
  count_work({.flops = flops,
              .bytes = sizeof(real) * numbers,
              .bfloat16_flops = precision == Precision::bfloat16 ? flops : 0});
}

// Computes a tile on the calling thread.
using Multiply = decltype(PanelLoops::multiply);

void multiply_thin(Index m, Index n, Index k, MatrixView a, MatrixView b, Start start, real* c,
                   Index c_stride) {
  const bool accumulate = start.values != nullptr;
  for (Index i = 0; i < m && accumulate && start.values != c; ++i)
    std::copy_n(start.values + i * start.stride, n, c + i * c_stride);
  thin_loops().dots(m, n, k, a.values, a.stride, b.values, b.stride, accumulate, c, c_stride);
}

// How the terms of a product that are not halved are added. Its whole shape decides.
Multiply multiply_for(Index m, Index k, const MatrixView& a, const MatrixView& b,
                      Precision precision) {
  if (precision == Precision::bfloat16) return bfloat16_product();
  return m <= thin && k > 0 && !a.transposed && b.transposed ? &multiply_thin
                                                             : panel_loops().multiply;
}

// c = start + a b on the calling thread, the terms halved until they are few.
void multiply_halves(Multiply multiply, Index m, Index n, Index k, MatrixView a, MatrixView b,
                     Start start, real* c, Index c_stride) {
  if (k <= most_terms) return multiply(m, n, k, a, b, start, c, c_stride);
  const Index half = (k / 2 + chain - 1) / chain * chain;
  multiply_halves(multiply, m, n, half, a, b, start, c, c_stride);
  const Scratch second(m * n);
  multiply_halves(multiply, m, n, k - half, a.from(0, half), b.from(half, 0), {}, second.data(), n);
  for (Index i = 0; i < m; ++i) reduce().accumulate(second.data() + i * n, c + i * c_stride, n);
}

}  // namespace

void gemm_serial(Index m, Index n, Index k, MatrixView a, MatrixView b, Start start, real* c,
                 Index c_stride, Precision precision) {
  if (m == 0 || n == 0) return;
  multiply_halves(multiply_for(m, k, a, b, precision), m, n, k, a, b, start, c, c_stride);
}

void gemm(Index m, Index n, Index k, MatrixView a, MatrixView b, Start start, real* c,
          Index c_stride, Precision precision) {
  count_products(1, m, n, k, precision);
  if (m == 0 || n == 0) return;
  const Multiply multiply = multiply_for(m, k, a, b, precision);
  const Tiles tiles = tiles_for(m, n, k, a.transposed, b.transposed);
  parallel_for(tiles.down * tiles.across, [&](Index tile) {
    const Index row = tile % tiles.down * tiles.rows, column = tile / tiles.down * tiles.columns;
    multiply_halves(multiply, std::min(tiles.rows, m - row), std::min(tiles.columns, n - column), k,
                    a.from(row, 0), b.from(0, column), start.from(row, column),
                    c + row * c_stride + column, c_stride);
  });
}

void gemm_batch(Index m, Index n, Index k, MatrixView a, std::span<const Index> a_offsets,
                MatrixView b, std::span<const Index> b_offsets, real* c, Precision precision) {
  if (m == 0 || n == 0) return;
  const auto count = static_cast<Index>(a_offsets.size());
  count_products(count, m, n, k, precision);
  const Multiply multiply = multiply_for(m, k, a, b, precision);
  const Index grain = std::max<Index>(1, smallest_tile / std::max<Index>(1, m * n * k));
  parallel_ranges(count, grain, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      multiply_halves(multiply, m, n, k, {a.values + a_offsets[i], a.stride, a.transposed},
                      {b.values + b_offsets[i], b.stride, b.transposed}, {}, c + i * m * n, n);
  });
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
