#include "tapegrad/ops/kernels/product/gemm.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "support/restore_threads.h"
#include "support/sections.h"
#include "tapegrad/core/random.h"

using namespace tapegrad;
using kernels::Start;

TEST_CASE("a product begins from zeros, from one row or from what is there", "[kernels]") {
  constexpr double precision = sizeof(real) == 8 ? 1e-14 : 1e-5;
  Random random(1);
  const auto shape = GENERATE(values<std::array<Index, 3>>({{1, 1, 0},
                                                            {5, 9, 0},
                                                            {3, 40, 17},
                                                            {20, 600, 390},
                                                            {520, 140, 400},
                                                            {50, 70, 900},
                                                            {200, 104, 300},
                                                            {520, 530, 512}}));
  const Index m = shape[0], n = shape[1], k = shape[2];
  const bool of_a = GENERATE(false, true), of_b = GENERATE(false, true);
  const Tensor a = random.uniform({m, k}, -1, 1), b = random.uniform({k, n}, -1, 1);
  const Tensor before = random.uniform({m, n}, -1, 1);
  const Index a_stride = of_a ? m : k, b_stride = of_b ? k : n;
  INFO(m << " x " << n << " x " << k << ", transposed " << of_a << of_b);
  const auto check = [&](Start start, std::vector<real>& c) {
    const Start given{start.values == c.data() ? before.data() : start.values, start.stride};
    kernels::gemm_serial(m, n, k, {a.data(), a_stride, of_a}, {b.data(), b_stride, of_b}, start,
                         c.data(), n);
    double error = 0;
    const Index step = m * n / 1000 + 1;  // some elements of a large product, the last among them
    for (Index at = (m * n - 1) % step; at < m * n; at += step) {
      const Index i = at / n, j = at % n;
      double sum = given.values ? given.values[i * given.stride + j] : 0;
      for (Index p = 0; p < k; ++p)
        sum += static_cast<double>(a.data()[of_a ? p * m + i : i * k + p]) *
               b.data()[of_b ? j * k + p : p * n + j];
      error = std::max(error, std::abs(sum - c[at]));
    }
    CHECK(error < precision * std::sqrt(k + 1.0));
  };
  std::vector<real> c(before.values().begin(), before.values().end());
  check({}, c);
  check({before.data(), 0}, c);
  c.assign(before.values().begin(), before.values().end());
  check({c.data(), n}, c);
}

TEST_CASE("a large product has one tile for each thread, and the same bits", "[kernels]") {
  const testing::RestoreThreads restore;
  Random random(2);
  const auto shape = GENERATE(values<std::array<Index, 3>>(
      {{512, 512, 64}, {1024, 768, 32}, {120, 1024, 128}, {2048, 128, 96}, {700, 330, 100}}));
  const Index m = shape[0], n = shape[1], k = shape[2];
  const bool of_a = GENERATE(false, true), of_b = GENERATE(false, true);
  const Tensor a = random.normal({m, k}), b = random.normal({k, n});
  std::vector<real> c(m * n);
  const auto multiply = [&] {
    kernels::gemm(m, n, k, {a.data(), of_a ? m : k, of_a}, {b.data(), of_b ? k : n, of_b}, {},
                  c.data(), n);
  };
  set_threads(1);
  multiply();
  const std::vector<real> alone = c;
  for (const int threads : {2, 3, 4, 6, 8, 16}) {
    INFO(m << " x " << n << " x " << k << ", transposed " << of_a << of_b << ", " << threads);
    set_threads(threads);
    const std::vector<Index> tasks = testing::sections_of(multiply);
    REQUIRE(tasks.size() == 1);
    CHECK(tasks[0] <= threads);
    CHECK(tasks[0] >= threads - threads / 8);
    CHECK(c == alone);
  }
}
