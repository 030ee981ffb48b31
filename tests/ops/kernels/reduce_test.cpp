#include "tapegrad/ops/kernels/reduce.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

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
