#include "tapegrad/ops/compare.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <vector>

#include "tapegrad/core/indices.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;

TEST_CASE("what was not chosen does not poison the gradient", "[ops]") {
  const Tape tape;
  const Tensor x = watch(Tensor({2}, {0, 4}));
  const Tensor dx = grad(sum(where(greater(x, 0.0), sqrt(where(greater(x, 0.0), x, 1.0)), 0.0)), x);
  CHECK(dx.values()[0] == 0);
  CHECK(dx.values()[1] == Approx(0.25));
}

TEST_CASE("comparisons are constants of ones and zeros", "[ops]") {
  const Tensor a({3}, {1, 2, 3}), b(2.0);
  const auto is = [](const Tensor& x, std::vector<real> expected) {
    return std::equal(expected.begin(), expected.end(), x.data());
  };
  CHECK(is(equal(a, b), {0, 1, 0}));
  CHECK(is(not_equal(a, b), {1, 0, 1}));
  CHECK(is(less(a, b), {1, 0, 0}));
  CHECK(is(less_equal(a, b), {1, 1, 0}));
  CHECK(is(greater(a, b), {0, 0, 1}));
  CHECK(is(greater_equal(a, b), {0, 1, 1}));
  CHECK(is(one_hot(Indices({2}, {2, 0}), 3), {0, 0, 1, 1, 0, 0}));
  const real nan = std::numeric_limits<real>::quiet_NaN();
  const Tensor with_nan({3}, {nan, 1, nan}), other({3}, {nan, nan, 1});
  CHECK(is(not_equal(with_nan, other), {1, 1, 1}));
  for (const auto& compare : {equal, less, less_equal, greater, greater_equal})
    CHECK(is(compare(with_nan, other, {}), {0, 0, 0}));
}

TEST_CASE("logic and comparisons of conditions", "[ops]") {
  const real nan = std::numeric_limits<real>::quiet_NaN();
  const Tensor a({4}, {0, 0, 2, nan}), b({4}, {0, -1, 0, 1});
  CHECK(to_string(logical_and(a, b)) == "(4) [0, 0, 0, 1]");
  CHECK(to_string(logical_or(a, b)) == "(4) [0, 1, 1, 1]");
  CHECK(to_string(logical_not(a)) == "(4) [1, 1, 0, 0]");
  CHECK(to_string(logical_and(Tensor({2, 1}, {0, 1}), Tensor({2}, {0, 1}))) ==
        "(2, 2) [[0, 0], [0, 1]]");
  CHECK_THROWS_WITH(logical_or(ones({2}), ones({3})), Catch::StartsWith("logical_or: shapes"));
  CHECK(to_string(isfinite(Tensor({4}, {1, nan, std::numeric_limits<real>::infinity(), -2}))) ==
        "(4) [1, 0, 0, 1]");
  const Tensor x({3}, {1, 2, 3});
  CHECK(to_string(x < 2) == "(3) [1, 0, 0]");
  CHECK(to_string(2 <= x) == "(3) [0, 1, 1]");
  CHECK(to_string(x > 2) == "(3) [0, 0, 1]");
  CHECK(to_string(x >= x) == "(3) [1, 1, 1]");
}
