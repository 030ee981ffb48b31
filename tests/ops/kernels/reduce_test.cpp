#include "tapegrad/ops/kernels/reduce.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "tapegrad/core/random.h"

using namespace tapegrad;

TEST_CASE("the greatest of a row is found wherever it is", "[kernels]") {
  constexpr real infinity = std::numeric_limits<real>::infinity();
  CHECK(kernels::reduce().max(nullptr, 0) == -infinity);
  for (Index count = 1; count < 70; ++count)
    for (Index at = 0; at < count; ++at) {
      std::vector<real> x(count, -2);
      x[at] = -1;
      REQUIRE(kernels::reduce().max(x.data(), count) == -1);
      x[at] = std::numeric_limits<real>::quiet_NaN();
      REQUIRE(std::isnan(kernels::reduce().max(x.data(), count)));
    }
}

TEST_CASE("many rows are added as one after the other", "[kernels]") {
  const Index stride = 41;
  Random random(1);
  for (const Index rows : {0, 1, 7, 8, 9, 31})
    for (const Index count : {0, 1, 15, 33, 41}) {
      INFO(rows << " rows of " << count);
      const Tensor x = random.normal({rows, stride});
      std::vector<real> expected(count, 0.5), found = expected;
      for (Index r = 0; r < rows; ++r)
        for (Index i = 0; i < count; ++i) expected[i] += x.data()[r * stride + i];
      kernels::reduce().accumulate_rows(x.data(), rows, stride, found.data(), count);
      CHECK(found == expected);
    }
}
