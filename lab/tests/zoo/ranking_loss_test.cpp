#include "tapegrad/zoo/ranking_loss.h"

#include <catch2/catch.hpp>

#include "support/golden.h"
#include "support/values.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

// tests/ops/loss_table.cpp compares values and derivatives with PyTorch's.

TEST_CASE("vectors are in order if no coordinate of the general one is greater", "[nn]") {
  const Tensor general({3}, {0, 1, 2});
  CHECK(order_violation(general, Tensor({3}, {0, 1, 2})).item() == 0);
  CHECK(order_violation(general, Tensor({3}, {5, 1, 3})).item() == 0);
  CHECK(order_violation(general, Tensor({3}, {9, 9, 1.5})).item() == Approx(0.25));
  CHECK(order_violation(Tensor({3}, {5, 1, 3}), general).item() == 26);
  CHECK(order_violation(zeros({2, 1, 3}), ones({1, 4, 3})).shape() == Shape{2, 4});
}

TEST_CASE("the order is transitive", "[nn]") {
  Random random(1);
  int chains = 0;
  for (int trial = 0; trial < 500; ++trial) {
    const Tensor a = random.uniform({2}), b = random.uniform({2}), c = random.uniform({2});
    if (order_violation(a, b).item() > 0 || order_violation(b, c).item() > 0) continue;
    ++chains;
    CHECK(order_violation(a, c).item() == 0);
  }
  CHECK(chains > 5);
}

TEST_CASE("contrastive sums compare each right pair with its row and its column", "[nn]") {
  const Tensor costs({3, 3}, {0.1, 0.5, 0.2,  //
                              0.0, 0.3, 0.9,  //
                              0.4, 0.35, 0.6});
  constexpr double margin = 0.17;
  double expected = 0;
  Tensor slopes = zeros({3, 3});
  const auto at = [&](Index i, Index j) { return costs.data()[3 * i + j]; };
  for (Index i = 0; i < 3; ++i)
    for (Index j = 0; j < 3; ++j)
      for (const Index right : {i, j}) {
        const double hinge = margin - at(i, j) + at(right, right);
        if (i == j || hinge <= 0) continue;
        expected += hinge;
        slopes.mutable_data()[3 * i + j] -= 1;
        slopes.mutable_data()[4 * right] += 1;
      }
  CHECK(expected > 0.9);
  const Tape tape;
  const Tensor x = watch(costs), loss = contrastive_sum(x, margin);
  CHECK(loss.item() == Approx(expected));
  CHECK(relative_error(grad(loss, x), slopes) < golden_tolerance);
}

TEST_CASE("a single pair has no contrast", "[nn]") {
  CHECK(contrastive_sum(ones({1, 1}), 0.5).item() == 0);
}

TEST_CASE("ranking losses refuse what does not fit", "[nn]") {
  CHECK_THROWS_WITH(contrastive_sum(ones({2, 3}), 0.1), Contains("(B, B): (2, 3)"));
  CHECK_THROWS_AS(contrastive_sum(ones({2, 2}), 0), ArgumentError);
  CHECK_THROWS_WITH(order_violation(ones({2, 3}), ones({2, 1})),
                    Contains("order_violation: vectors have different lengths"));
  CHECK_THROWS_AS(order_violation(ones({2}), ones({3})), ShapeError);
  CHECK_THROWS_AS(order_violation(ones({}), ones({})), ShapeError);
}
