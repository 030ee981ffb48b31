#include "tapegrad/linalg/kernels/lapack.h"

#include <cblas.h>
#include <lapack.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/machine/profile.h"
#include "tapegrad/linalg/kernels/for_real.h"
#include "tapegrad/linalg/kernels/one_thread.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {
namespace {

// Fortran's routines, whose last arguments are the lengths of their strings. They see a row-major
// matrix as its transpose.
constexpr auto potrf = for_real(LAPACK_spotrf_base, LAPACK_dpotrf_base);
constexpr auto geqrf = for_real(LAPACK_sgeqrf, LAPACK_dgeqrf);
constexpr auto orgqr = for_real(LAPACK_sorgqr, LAPACK_dorgqr);
constexpr auto syevd = for_real(LAPACK_ssyevd_base, LAPACK_dsyevd_base);
constexpr auto gesdd = for_real(LAPACK_sgesdd_base, LAPACK_dgesdd_base);
constexpr auto getrf = for_real(LAPACK_sgetrf, LAPACK_dgetrf);
constexpr auto getrs = for_real(LAPACK_sgetrs_base, LAPACK_dgetrs_base);
constexpr auto trsm = for_real(cblas_strsm, cblas_dtrsm);

void transpose(Index rows, Index columns, const real* from, real* to) {
  for (Index i = 0; i < rows; ++i)
    for (Index j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
}

// Workspaces are asked for by a call with size -1, which answers in the first element.
constexpr lapack_int ask = -1;
std::vector<real> workspace(real answer) {
  return std::vector<real>(static_cast<std::size_t>(std::max<real>(1, answer)));
}
lapack_int size_of(const std::vector<real>& work) { return static_cast<lapack_int>(work.size()); }

// Calls body(i), which returns whether it succeeded, for each matrix, unless they are empty. Small
// ones share a task.
template <class Body>
Index for_each_matrix(Index count, Index elements, double flops, const Body& body) {
  if (count * elements == 0) return -1;
  count_work({.flops = static_cast<double>(count) * flops,
              .bytes = static_cast<double>(count * elements) * 2 * sizeof(real)});
  const openblas::OneThread alone;
  std::vector<char> failed(static_cast<std::size_t>(count));
  const Index together = std::max<Index>(1, elements_per_tile / 16 / elements);
  parallel_ranges(count, together, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) failed[static_cast<std::size_t>(i)] = !body(i);
  });
  const auto first = std::find(failed.begin(), failed.end(), 1);
  return first == failed.end() ? -1 : first - failed.begin();
}

double cube(Index n) { return std::pow(static_cast<double>(n), 3); }

// The sign of the element of greatest size, the first of equals, of `count` elements.
real sign_of_greatest(const real* x, Index count, Index stride) {
  real greatest = 0;
  for (Index i = 0; i < count; ++i)
    if (std::abs(x[i * stride]) > std::abs(greatest)) greatest = x[i * stride];
  return greatest < 0 ? real{-1} : real{1};
}

}  // namespace

Index cholesky(Index count, Index n, real* a) {
  const auto size = static_cast<lapack_int>(n);
  return for_each_matrix(count, n * n, cube(n) / 3, [&](Index entry) {
    real* l = a + entry * n * n;
    lapack_int info = 0;
    potrf("U", &size, l, &size, &info, 1);
    for (Index i = 0; i < n; ++i) std::fill(l + i * n + i + 1, l + (i + 1) * n, real{0});
    return info == 0;
  });
}

void qr(Index count, Index m, Index n, const real* a, real* q, real* r) {
  const auto rows = static_cast<lapack_int>(m), columns = static_cast<lapack_int>(n);
  const double flops = 4 * static_cast<double>(m) * static_cast<double>(n * n);
  for_each_matrix(count, m * n, flops, [&](Index entry) {
    std::vector<real> factors(static_cast<std::size_t>(m * n));  // by columns, as LAPACK wants it
    std::vector<real> tau(static_cast<std::size_t>(n));
    transpose(m, n, a + entry * m * n, factors.data());
    lapack_int info = 0;
    real first = 0, second = 0;
    geqrf(&rows, &columns, factors.data(), &rows, tau.data(), &first, &ask, &info);
    orgqr(&rows, &columns, &columns, factors.data(), &rows, tau.data(), &second, &ask, &info);
    std::vector<real> work = workspace(std::max(first, second));
    const lapack_int room = size_of(work);
    geqrf(&rows, &columns, factors.data(), &rows, tau.data(), work.data(), &room, &info);
    std::vector<real> sign(static_cast<std::size_t>(n));
    for (Index i = 0; i < n; ++i) {
      sign[i] = factors[i * m + i] < 0 ? real{-1} : real{1};
      for (Index j = 0; j < n; ++j)
        r[(entry * n + i) * n + j] = j < i ? real{0} : sign[i] * factors[j * m + i];
    }
    orgqr(&rows, &columns, &columns, factors.data(), &rows, tau.data(), work.data(), &room, &info);
    for (Index i = 0; i < m; ++i)
      for (Index j = 0; j < n; ++j) q[(entry * m + i) * n + j] = sign[j] * factors[j * m + i];
    return true;
  });
}

Index eigh(Index count, Index n, const real* a, real* values, real* vectors) {
  const auto size = static_cast<lapack_int>(n);
  return for_each_matrix(count, n * n, 9 * cube(n), [&](Index entry) {
    std::vector<real> rows(a + entry * n * n, a + (entry + 1) * n * n);
    real* w = values + entry * n;
    lapack_int info = 0, whole = 0;
    real answer = 0;
    syevd("V", "U", &size, rows.data(), &size, w, &answer, &ask, &whole, &ask, &info, 1, 1);
    std::vector<real> work = workspace(answer);
    std::vector<lapack_int> whole_work(static_cast<std::size_t>(whole));
    const lapack_int room = size_of(work);
    syevd("V", "U", &size, rows.data(), &size, w, work.data(), &room, whole_work.data(), &whole,
          &info, 1, 1);
    for (Index k = 0; k < n; ++k) {
      const real sign = sign_of_greatest(rows.data() + k * n, n, 1);
      for (Index i = 0; i < n; ++i) rows[k * n + i] *= sign;
    }
    transpose(n, n, rows.data(), vectors + entry * n * n);
    return info == 0;
  });
}

// LAPACK sees a^T = v^T diag(s) u^T, so it writes v where it has u, and u where it has v.
Index svd(Index count, Index m, Index n, const real* a, real* u, real* s, real* v) {
  const Index k = std::min(m, n);
  const auto rows = static_cast<lapack_int>(n), columns = static_cast<lapack_int>(m);
  const auto values = static_cast<lapack_int>(k);
  const double flops = 14 * static_cast<double>(std::max(m, n)) * static_cast<double>(k * k);
  return for_each_matrix(count, m * n, flops, [&](Index entry) {
    std::vector<real> copy(a + entry * m * n, a + (entry + 1) * m * n);
    std::vector<lapack_int> whole_work(static_cast<std::size_t>(8 * k));
    real *left = u + entry * m * k, *right = v + entry * k * n;
    lapack_int info = 0;
    const auto compute = [&](real* work, lapack_int room) {
      gesdd("S", &rows, &columns, copy.data(), &rows, s + entry * k, right, &rows, left, &values,
            work, &room, whole_work.data(), &info, 1);
    };
    real answer = 0;
    compute(&answer, ask);
    std::vector<real> work = workspace(answer);
    compute(work.data(), size_of(work));
    for (Index j = 0; j < k; ++j) {
      const real sign = sign_of_greatest(left + j, m, k);
      for (Index i = 0; i < m; ++i) left[i * k + j] *= sign;
      for (Index i = 0; i < n; ++i) right[j * n + i] *= sign;
    }
    return info == 0;
  });
}

Index solve(Index count, Index n, Index k, const real* a, const real* b, real* x) {
  const auto size = static_cast<lapack_int>(n), columns = static_cast<lapack_int>(k);
  const double flops = 2 * cube(n) / 3 + 2 * static_cast<double>(n * n) * static_cast<double>(k);
  return for_each_matrix(count, n * (n + k), flops, [&](Index entry) {
    std::vector<real> factors(a + entry * n * n, a + (entry + 1) * n * n);
    std::vector<real> solution(static_cast<std::size_t>(n * k));
    std::vector<lapack_int> pivots(static_cast<std::size_t>(n));
    lapack_int info = 0, solved = 0;
    getrf(&size, &size, factors.data(), &size, pivots.data(), &info);
    if (info != 0) return false;
    transpose(n, k, b + entry * n * k, solution.data());
    getrs("T", &size, &columns, factors.data(), &size, pivots.data(), solution.data(), &size,
          &solved, 1);
    transpose(k, n, solution.data(), x + entry * n * k);
    return true;
  });
}

Index triangular_solve(Index count, Index n, Index k, Triangle triangle, const real* a, real* x) {
  const auto size = static_cast<lapack_int>(n);
  const auto columns = static_cast<lapack_int>(std::max<Index>(1, k));
  const double flops = static_cast<double>(n * n) * static_cast<double>(k);
  return for_each_matrix(count, n * (n + k), flops, [&](Index entry) {
    const real* matrix = a + entry * n * n;
    for (Index i = 0; i < n; ++i)
      if (matrix[i * n + i] == 0) return false;
    trsm(CblasRowMajor, CblasLeft, triangle.upper ? CblasUpper : CblasLower,
         triangle.transposed ? CblasTrans : CblasNoTrans, CblasNonUnit, size,
         static_cast<lapack_int>(k), 1, matrix, size, x + entry * n * k, columns);
    return true;
  });
}

void determinant(Index count, Index n, const real* a, real* sign, real* log_size) {
  const auto size = static_cast<lapack_int>(n);
  std::fill_n(sign, count, real{1});
  std::fill_n(log_size, count, real{0});
  for_each_matrix(count, n * n, 2 * cube(n) / 3, [&](Index entry) {
    std::vector<real> factors(a + entry * n * n, a + (entry + 1) * n * n);
    std::vector<lapack_int> pivots(static_cast<std::size_t>(n));
    lapack_int info = 0;
    getrf(&size, &size, factors.data(), &size, pivots.data(), &info);
    for (Index i = 0; i < n; ++i) {
      const real pivot = factors[i * n + i];
      log_size[entry] += std::log(std::abs(pivot));
      if ((pivot < 0) != (pivots[i] != i + 1)) sign[entry] = -sign[entry];
    }
    return true;
  });
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
