#include "tapegrad/ops/order.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "support/golden.h"
#include "support/restore_threads.h"
#include "support/values.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/indices.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/random.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

TEST_CASE("running sums", "[ops]") {
  CHECK(is(cumsum(Tensor({2, 2}, {1, 2, 3, 4}), 0), {1, 2, 4, 6}));
  CHECK(is(cumsum(Tensor({2, 2}, {1, 2, 3, 4})), {1, 3, 3, 7}));
  CHECK(is(cumsum(Tensor({3}, {1, infinity, 1})), {1, infinity, infinity}));
  CHECK(cumsum(zeros({0, 3}), 0).shape() == Shape{0, 3});
  CHECK(cumsum(zeros({3, 0}), 0).shape() == Shape{3, 0});
  CHECK(cumsum(full({100'000}, 0.1)).data()[99'999] ==
        Approx(1e5 * static_cast<double>(real(0.1))).epsilon(1e-6));
  CHECK_THROWS_WITH(cumsum(zeros({2, 3}), 2), Contains("axis 2") && Contains("(2, 3)"));
  CHECK_THROWS_WITH(cumsum(Tensor(1.0)), Contains("axis -1") && Contains("()"));
}

TEST_CASE("sorting is stable and NaN is greatest", "[ops]") {
  const Tensor x({6}, {2, no_number, 1, 2, infinity, 1});
  const Sorted up = sort(x), down = sort(x, 0, true), best = top_k(x, 4);
  CHECK(is(up.indices, {2, 5, 0, 3, 4, 1}));
  CHECK(is(down.indices, {1, 4, 0, 3, 2, 5}));
  CHECK(is(best.indices, {1, 4, 0, 3}));
  CHECK(std::isnan(up.values.data()[5]));
  CHECK(std::isnan(best.values.data()[0]));
  CHECK(best.values.data()[1] == infinity);
  const Sorted columns = sort(Tensor({2, 3}, {3, 1, 2, 1, 1, 5}), 0);
  CHECK(is(columns.values, {1, 1, 2, 3, 1, 5}));
  CHECK(is(columns.indices, {1, 0, 0, 0, 1, 1}));
}

TEST_CASE("sorting nothing, and more than there is", "[ops]") {
  CHECK(sort(zeros({0, 3}), 0).values.shape() == Shape{0, 3});
  CHECK(sort(zeros({3, 0}), 0).indices.shape() == Shape{3, 0});
  CHECK(top_k(zeros({2, 3}), 0).values.shape() == Shape{2, 0});
  CHECK(top_k(zeros({2, 3}), 3).values.shape() == Shape{2, 3});
  CHECK_THROWS_WITH(top_k(zeros({2, 3}), 4),
                    Catch::StartsWith("top_k: axis 1 of (2, 3) has no 4 elements ["));
  CHECK_THROWS_WITH(top_k(zeros({2, 3}), -1, 0),
                    Catch::StartsWith("top_k: axis 0 of (2, 3) has no -1 elements ["));
  CHECK_THROWS_WITH(sort(zeros({2, 3}), 2), Contains("axis 2") && Contains("(2, 3)"));
}

TEST_CASE("the gradient of what was sorted goes to its first position", "[ops]") {
  const Tape tape;
  const Tensor x = watch(Tensor({4}, {3, 1, 3, 2}));
  CHECK(is(grad(sum(top_k(x, 1).values), x, {.keep = true}), {1, 0, 0, 0}));
  CHECK(is(grad(sum(sort(x).values * Tensor({4}, {1, 2, 3, 4})), x), {3, 1, 4, 2}));
}

TEST_CASE("sums and orders are the same for any number of threads", "[ops]") {
  const Tensor x = Random(1).normal({40, 900}), near_one = 1 + 1e-3 * x;
  const RestoreThreads after;
  const auto all = [&] {
    return std::vector{cumsum(x),
                       cumsum(x, 0),
                       sort(x).values,
                       top_k(x, 7, 0).values,
                       cumprod(near_one, 0),
                       prod(near_one),
                       prod(near_one, 0)};
  };
  set_threads(1);
  const std::vector<Tensor> one = all();
  set_threads(3);
  const std::vector<Tensor> three = all();
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(relative_error(three[i], one[i]) == 0);
}

TEST_CASE("running products", "[ops]") {
  CHECK(is(cumprod(Tensor({5}, {1, 2, 3, 4, 5})), {1, 2, 6, 24, 120}));
  CHECK(is(cumprod(Tensor({2, 2}, {1, 2, 3, 4}), 0), {1, 2, 3, 8}));
  CHECK(is(cumprod(Tensor({4}, {2, 0, 3, 4})), {2, 0, 0, 0}));
  CHECK(cumprod(zeros({0, 3}), 0).shape() == Shape{0, 3});
  CHECK(is(cumprod(Tensor({1}, {7})), {7}));
  CHECK_THROWS_AS(cumprod(zeros({2}), 1), ShapeError);
}

TEST_CASE("argsort is the positions of sort", "[ops]") {
  const Tensor x({2, 3}, {3, no_number, 1, 1, 1, 0});
  for (const bool descending : {false, true})
    for (const int axis : {0, 1}) {
      const auto expected = sort(x, axis, descending).indices.values();
      CHECK(is(argsort(x, axis, descending), {expected.begin(), expected.end()}));
    }
  CHECK_THROWS_AS(argsort(x, 2), ShapeError);
}
