#include "tapegrad/ops/kernels/gemm.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "tapegrad/core/parallel.h"
#include "tapegrad/core/profile.h"
#include "tapegrad/ops/kernels/panels.h"
#include "tapegrad/ops/kernels/thin.h"

// How OpenBLAS chooses its kernels; absent from builds for one processor only.
extern "C" {
[[gnu::weak]] void gotoblas_dynamic_init();
[[gnu::weak]] void gotoblas_dynamic_quit();
}

namespace tapegrad::kernels {
namespace {

// OpenBLAS does not know processors newer than itself and takes its oldest kernels for them: 32
// instead of 155 GFLOP/s with 0.3.21 on a Xeon of 2023. What counts is the instruction set.
void choose_blas_kernels() {
#ifdef __x86_64__
  if (gotoblas_dynamic_init == nullptr || gotoblas_dynamic_quit == nullptr) return;
  if (openblas_get_corename() != std::string_view("Prescott")) return;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return;
  const bool wide = __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
  setenv("OPENBLAS_CORETYPE", wide ? "SkylakeX" : "Haswell", 0);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
#endif
}

// tapegrad owns the threads; OpenBLAS computes on the one that calls it.
[[maybe_unused]] const bool blas_is_ready = [] {
  choose_blas_kernels();
  openblas_set_num_threads(1);
  return true;
}();

// Multiply-adds that are worth a tile of their own, and what the tiles of BLAS hold.
constexpr Index smallest_tile = Index{1} << 17;
constexpr Index blas_tile = Index{1} << 29;

// From this extent on, in all three directions, BLAS is 2 to 4 % faster on two threads where the
// left-hand matrix has to be turned.
constexpr Index smallest_blas = 512;

enum class Kernel { thin, panels, blas };
Kernel kernel_for(Index m, Index n, Index k, const Matrix& a, const Matrix& b) {
  if (m <= thin && k > 0 && !a.transposed && b.transposed) return Kernel::thin;
  return a.transposed && std::min({m, n, k}) >= smallest_blas ? Kernel::blas : Kernel::panels;
}

// A product in tiles as square as may be, since each rearranges what it reads of a and b.
struct Tiles {
  Index rows, columns;  // of a tile
  Index down, across;   // how many
};
Tiles tiles_for(Kernel kernel, Index m, Index n, Index k) {
  const Index work = m * n * k;
  // BLAS sums in another order in another tile; with the other kernels no bit depends on them.
  const Index count = kernel == Kernel::blas
                          ? std::max<Index>(2, work / blas_tile)
                          : std::clamp<Index>(work / smallest_tile, 1, threads());
  const double square = std::sqrt(static_cast<double>(count * m) / static_cast<double>(n));
  const Index down = std::clamp<Index>(std::lround(square), 1, count);
  const Index across = (count + down - 1) / down;
  const auto extent = [](Index whole, Index pieces, Index block) {
    return ((whole + pieces - 1) / pieces + block - 1) / block * block;
  };
  const Index rows = extent(m, down, 6), columns = extent(n, across, 16);
  return {rows, columns, (m + rows - 1) / rows, (n + columns - 1) / columns};
}

#ifdef TAPEGRAD_DOUBLE
constexpr auto blas_gemm = cblas_dgemm;
#else
constexpr auto blas_gemm = cblas_sgemm;
#endif

void gemm_by(Kernel kernel, Index m, Index n, Index k, Matrix a, Matrix b, Start start, real* c,
             Index c_stride) {
  if (kernel == Kernel::panels) return panel_loops().multiply(m, n, k, a, b, start, c, c_stride);
  const bool accumulate = start.values != nullptr;
  for (Index i = 0; i < m && accumulate && start.values != c; ++i)
    std::copy_n(start.values + i * start.stride, n, c + i * c_stride);
  if (kernel == Kernel::thin)
    return thin_loops().dots(m, n, k, a.values, a.stride, b.values, b.stride, accumulate, c,
                             c_stride);
  blas_gemm(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans,
            b.transposed ? CblasTrans : CblasNoTrans, static_cast<int>(m), static_cast<int>(n),
            static_cast<int>(k), 1, a.values, static_cast<int>(a.stride), b.values,
            static_cast<int>(b.stride), accumulate ? 1 : 0, c, static_cast<int>(c_stride));
}

}  // namespace

void count_products(Index count, Index m, Index n, Index k) {
  const auto all = static_cast<double>(count);
  count_work(all * 2 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k),
             all * static_cast<double>(sizeof(real) * (m * k + k * n + m * n)));
}

void gemm_serial(Index m, Index n, Index k, Matrix a, Matrix b, Start start, real* c,
                 Index c_stride) {
  if (m == 0 || n == 0) return;
  gemm_by(kernel_for(m, n, k, a, b), m, n, k, a, b, start, c, c_stride);
}

void gemm(Index m, Index n, Index k, Matrix a, Matrix b, Start start, real* c, Index c_stride) {
  count_products(1, m, n, k);
  if (m == 0 || n == 0) return;
  const Kernel kernel = kernel_for(m, n, k, a, b);
  const Tiles tiles = tiles_for(kernel, m, n, k);
  parallel_for(tiles.down * tiles.across, [&](Index tile) {
    const Index row = tile % tiles.down * tiles.rows, column = tile / tiles.down * tiles.columns;
    gemm_by(kernel, std::min(tiles.rows, m - row), std::min(tiles.columns, n - column), k,
            a.from(row, 0), b.from(0, column), start.from(row, column), c + row * c_stride + column,
            c_stride);
  });
}

}  // namespace tapegrad::kernels
