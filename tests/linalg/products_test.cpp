// The products of tapegrad's own kernels beside OpenBLAS's.

#include <cblas.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "tapegrad/core/random.h"
#include "tapegrad/linalg/kernels/for_real.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"

using namespace tapegrad;

namespace {

constexpr auto gemm = kernels::for_real(cblas_sgemm, cblas_dgemm);

// The product of two matrices by OpenBLAS.
Tensor reference(const Tensor& a, const Tensor& b, Transposed t) {
  const auto extent = [](const Tensor& x, int axis) { return static_cast<int>(x.shape()[axis]); };
  const int m = extent(a, t.a ? 1 : 0), k = extent(a, t.a ? 0 : 1), n = extent(b, t.b ? 0 : 1);
  Tensor c = Tensor::uninitialized({m, n});
  gemm(CblasRowMajor, t.a ? CblasTrans : CblasNoTrans, t.b ? CblasTrans : CblasNoTrans, m, n, k, 1,
       a.data(), std::max(1, extent(a, 1)), b.data(), std::max(1, extent(b, 1)), 0,
       c.mutable_data(), std::max(1, n));
  return c;
}

// Whether two products agree up to the rounding of sums of k products of numbers in [-1, 1].
bool agree(const Tensor& found, const Tensor& expected, Index k) {
  if (!(found.shape() == expected.shape())) return false;
  const double bound = std::numeric_limits<real>::epsilon() * static_cast<double>(k + 1);
  for (Index i = 0; i < found.size(); ++i)
    if (!(std::abs(double{found.data()[i]} - expected.data()[i]) <= bound)) return false;
  return true;
}

// A part of `numbers` as a matrix, or as its transpose.
Tensor matrix(const Tensor& numbers, Index rows, Index columns, bool transposed) {
  return numbers.view(transposed ? Shape{columns, rows} : Shape{rows, columns});
}

// Counts the ways to transpose the operands in which a product differs from OpenBLAS's.
int count_wrong(Index m, Index n, Index k, const Tensor& left, const Tensor& right) {
  int wrong = 0;
  for (const bool of_a : {false, true})
    for (const bool of_b : {false, true}) {
      const Tensor a = matrix(left, m, k, of_a), b = matrix(right, k, n, of_b);
      const Transposed t{of_a, of_b};
      if (!agree(matmul(a, b, t), reference(a, b, t), k)) ++wrong;
    }
  return wrong;
}

}  // namespace

TEST_CASE("products of all small shapes agree with OpenBLAS", "[linalg][product]") {
  constexpr Index most = 40;
  Random random(1);
  const Tensor left = random.uniform({most * most}, -1, 1);
  const Tensor right = random.uniform({most * most}, -1, 1);
  for (Index m = 0; m <= most; ++m)
    for (Index n = 0; n <= most; ++n)
      for (Index k = 0; k <= most; ++k)
        if (count_wrong(m, n, k, left, right) > 0) FAIL(m << " x " << n << " x " << k);
}

// Around panels of 64 columns, pieces of 192 rows and of 384 or 512 terms and columns.
TEST_CASE("products around the sizes of blocks agree with OpenBLAS", "[linalg][product]") {
  std::vector<std::array<Index, 3>> shapes{{193, 513, 513}, {385, 65, 129}};
  for (const Index size : {63,  64,  65,  95,  96,  97,  127, 128, 129,  191,
                           192, 193, 383, 384, 385, 511, 512, 513, 1024, 1025}) {
    shapes.push_back({size, 70, 70});
    shapes.push_back({70, size, 70});
    shapes.push_back({70, 70, size});
    shapes.push_back({9, size, size});
  }
  Random random(2);
  const Tensor left = random.uniform({400 * 1025}, -1, 1);
  const Tensor right = random.uniform({1025 * 1025}, -1, 1);
  for (const auto& [m, n, k] : shapes) {
    INFO(m << " x " << n << " x " << k);
    CHECK(count_wrong(m, n, k, left, right) == 0);
  }
}

TEST_CASE("products of batches agree with OpenBLAS", "[linalg][product]") {
  Random random(3);
  for (const auto& [m, n, k] :
       std::vector<std::array<Index, 3>>{{1, 1, 1}, {3, 5, 4}, {9, 17, 33}, {70, 65, 100}})
    for (const bool of_a : {false, true})
      for (const bool of_b : {false, true}) {
        INFO(m << " x " << n << " x " << k << ", transposed " << of_a << of_b);
        const Transposed t{of_a, of_b};
        const Tensor a = random.uniform(of_a ? Shape{2, 1, k, m} : Shape{2, 1, m, k}, -1, 1);
        const Tensor b = random.uniform(of_b ? Shape{3, n, k} : Shape{3, k, n}, -1, 1);
        const Tensor c = matmul(a, b, t);
        REQUIRE(c.shape() == Shape{2, 3, m, n});
        for (const Index i : {0, 1})
          for (const Index j : {0, 1, 2})
            CHECK(agree(select(select(c, i), j),
                        reference(select(select(a, i), 0), select(b, j), t), k));
      }
}
