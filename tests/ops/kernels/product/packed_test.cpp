#include "tapegrad/ops/kernels/product/packed.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "tapegrad/core/random.h"

using namespace tapegrad;

TEST_CASE("parts of a packed product have the bits of the whole", "[kernels]") {
  constexpr double precision = sizeof(real) == 8 ? 1e-14 : 1e-5;
  Random random(1);
  for (const Index m : {1, 9, 40})
    for (const Index n : {1, 31, 32, 96, 100, 112})
      for (const Index k : {1, 16, 70}) {
        INFO(m << " x " << n << " x " << k);
        const Tensor a = random.uniform({m, k}, -1, 1), b = random.uniform({n, k}, -1, 1);
        const kernels::Packed packed(k, n, {b.data(), k, true});
        std::vector<real> whole(static_cast<std::size_t>(m * n));
        packed.multiply(m, {a.data(), k}, {}, whole.data(), n, false, 1);
        double error = 0;
        for (Index i = 0; i < m * n; ++i) {
          double sum = 0;
          for (Index p = 0; p < k; ++p)
            sum += static_cast<double>(a.data()[i / n * k + p]) * b.data()[i % n * k + p];
          error = std::max(error, std::abs(sum - whole[static_cast<std::size_t>(i)]));
        }
        CHECK(error < precision * std::sqrt(k + 1.0));
        for (const Index parts : {2, 3, 16}) {
          std::vector<real> divided(whole.size());
          packed.multiply(m, {a.data(), k}, {}, divided.data(), n, true, parts);
          CHECK(divided == whole);
        }
        for (Index first = 0; first < n; first += kernels::packed_columns)
          for (const Index columns : {std::min(n - first, kernels::packed_columns), n - first}) {
            std::vector<real> part(static_cast<std::size_t>(m * columns));
            packed.multiply_part(m, first, columns, {a.data(), k}, {}, part.data(), columns, false);
            Index different = 0;
            for (Index i = 0; i < m * columns; ++i)
              different += part[static_cast<std::size_t>(i)] !=
                           whole[static_cast<std::size_t>(i / columns * n + first + i % columns)];
            CHECK(different == 0);
          }
      }
}

TEST_CASE("the error of a packed product does not grow with its length", "[kernels]") {
  const Index k = 10'000;
  const std::vector<real> values(static_cast<std::size_t>(3 * k), real{0.1});
  const kernels::Packed packed(k, 3, {values.data(), 3});
  std::vector<real> c(9);
  packed.multiply(3, {values.data(), k}, {}, c.data(), 3, false, 1);
  const double sum = static_cast<double>(k) * static_cast<double>(values[0]) * values[0];
  const double bound = 32 * static_cast<double>(std::numeric_limits<real>::epsilon());
  for (const real each : c) CHECK(std::abs(each - sum) < bound * sum);
}
