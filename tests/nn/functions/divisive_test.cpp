#include "tapegrad/nn/functions/divisive.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;

TEST_CASE("divisive normalization follows its formula", "[norm]") {
  const Tensor x({1, 2}, {3, -4}), u({2, 2}, {1, 2, 0, 1}), w({2, 2}, {1, 0.5, 0, 2});
  const Tensor y = divisive_norm(x, u, w, {.smoothing = 2});
  CHECK(y.values()[0] == Approx((3 - 8) / std::sqrt(4 + 9 + 8.0)));
  CHECK(y.values()[1] == Approx(-4 / std::sqrt(4 + 32.0)));
  const Tensor cubes = divisive_norm(x, u, w, {.smoothing = 2, .exponent = 3});
  CHECK(cubes.values()[1] == Approx(-4 / std::cbrt(4 + 128.0)));
}

TEST_CASE("the L1 regularizer is the mean distance from the mean of a row", "[norm]") {
  const Tensor x({2, 4}, {0, 0, 4, 4, 1, 2, 3, 6});
  CHECK(sum(centered_l1(x, {.axes = {-1}})).item() == Approx((2 + 1.5) / 2));
}
