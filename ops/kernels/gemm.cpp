#include "tapegrad/ops/kernels/gemm.h"

#include <cblas.h>

#include <algorithm>
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

// Multiply-adds that are worth a second tile, and what the tiles of large products hold.
constexpr Index smallest_tile = Index{1} << 17;
constexpr Index largest_tile = Index{1} << 29;

// From this extent on, in all three directions, BLAS is as fast as the panels, or faster.
constexpr Index smallest_blas = 512;

Index tile_count(Index m, Index n, Index k) {
  const Index work = m * n * k;
  if (work < 2 * smallest_tile) return 1;
  return std::max<Index>(2, work / largest_tile);
}

#ifdef TAPEGRAD_DOUBLE
constexpr auto blas_gemm = cblas_dgemm;
#else
constexpr auto blas_gemm = cblas_sgemm;
#endif

}  // namespace

void count_products(Index count, Index m, Index n, Index k) {
  const auto all = static_cast<double>(count);
  count_work(all * 2 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k),
             all * static_cast<double>(sizeof(real) * (m * k + k * n + m * n)));
}

void gemm_serial(Index m, Index n, Index k, Matrix a, Matrix b, Start start, real* c,
                 Index c_stride) {
  if (m == 0 || n == 0) return;
  const bool is_thin = m <= thin && k > 0 && !a.transposed && b.transposed;
  if (!is_thin && std::min({m, n, k}) < smallest_blas)
    return panel_loops().multiply(m, n, k, a, b, start, c, c_stride);
  const bool accumulate = start.values != nullptr;
  for (Index i = 0; i < m && accumulate && start.values != c; ++i)
    std::copy_n(start.values + i * start.stride, n, c + i * c_stride);
  if (is_thin)
    return thin_loops().dots(m, n, k, a.values, a.stride, b.values, b.stride, accumulate, c,
                             c_stride);
  blas_gemm(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans,
            b.transposed ? CblasTrans : CblasNoTrans, static_cast<int>(m), static_cast<int>(n),
            static_cast<int>(k), 1, a.values, static_cast<int>(a.stride), b.values,
            static_cast<int>(b.stride), accumulate ? 1 : 0, c, static_cast<int>(c_stride));
}

void gemm(Index m, Index n, Index k, Matrix a, Matrix b, Start start, real* c, Index c_stride) {
  count_products(1, m, n, k);
  const Index tiles = tile_count(m, n, k);
  const bool by_rows = m >= n;
  const Index extent = by_rows ? m : n;
  const Index grain = ((extent + tiles - 1) / tiles + 15) / 16 * 16;  // whole register blocks
  parallel_ranges(extent, std::max<Index>(grain, 1), [&](Index begin, Index end) {
    if (by_rows)
      gemm_serial(end - begin, n, k, a.from(begin, 0), b, start.from(begin, 0),
                  c + begin * c_stride, c_stride);
    else
      gemm_serial(m, end - begin, k, a, b.from(0, begin), start.from(0, begin), c + begin,
                  c_stride);
  });
}

}  // namespace tapegrad::kernels
