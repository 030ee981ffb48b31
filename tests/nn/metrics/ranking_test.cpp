#include "tapegrad/nn/metrics/ranking.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "support/values.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

using List = std::vector<Index>;

List list(const Indices& indices) { return {indices.values().begin(), indices.values().end()}; }

}  // namespace

TEST_CASE("a rank is the right candidate's place among all", "[metrics]") {
  const Tensor costs({3, 4}, {0.5, 0.1, 0.7, 0.3,  //
                              2.0, 1.0, 4.0, 3.0,  //
                              -1, -2, -3, -4});
  CHECK(list(ranks(costs, Indices({3}, {0, 1, 0}))) == List{3, 1, 4});
  CHECK(list(ranks(costs, Indices({3, 2}, {0, 3, 2, 3, 0, 1}))) == List{2, 3, 3});
}

TEST_CASE("ties and NaN count against a query", "[metrics]") {
  const Tensor alike = Tensor({2, 3}, {1, 1, 1, 0, 0, 2});
  CHECK(list(ranks(alike, Indices({2}, {1, 1}))) == List{3, 2});
  // Equal right candidates do not count against each other.
  CHECK(list(ranks(alike, Indices({2, 2}, {0, 1, 0, 1}))) == List{2, 1});
  CHECK(list(ranks(Tensor({1, 3}, {2, no_number, 3}), Indices({1}, {0}))) == List{2});
  CHECK(list(ranks(Tensor({1, 3}, {no_number, 1, 3}), Indices({1}, {0}))) == List{3});
  CHECK(list(ranks(Tensor({1, 3}, {no_number, 1, 3}), Indices({1, 2}, {0, 1}))) == List{1});
}

TEST_CASE("recall, median and mean of ranks", "[metrics]") {
  const Indices four({4}, {7, 1, 2, 100}), five({5}, {7, 1, 2, 100, 3});
  CHECK(recall_at(1, four) == 0.25);
  CHECK(recall_at(7, four) == 0.75);
  CHECK(recall_at(6, four) == 0.5);
  CHECK(median_rank(four) == 4.5);
  CHECK(median_rank(five) == 3);
  CHECK(mean_rank(four) == 27.5);
  const Indices none({0}, {});
  CHECK_THROWS_WITH(recall_at(1, none), Contains("recall_at: there are no ranks"));
  CHECK_THROWS_AS(median_rank(none), ShapeError);
  CHECK_THROWS_AS(mean_rank(none), ShapeError);
}

TEST_CASE("ranks need a right candidate for each query", "[metrics]") {
  const Tensor costs({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK_THROWS_WITH(ranks(costs, Indices({3}, {0, 0, 0})), Contains("costs (2, 3)"));
  CHECK_THROWS_AS(ranks(costs, Indices({2, 0}, {})), ShapeError);
  CHECK_THROWS_AS(ranks(costs, Indices({2}, {0, 3})), ShapeError);
  CHECK_THROWS_AS(ranks(Tensor({3}, {1, 2, 3}), Indices({3}, {0, 0, 0})), ShapeError);
}

TEST_CASE("a search finds the same best threshold", "[metrics]") {
  Random random(1);
  for (int trial = 0; trial < 200; ++trial) {
    const auto draw = [&] {  // few values, so that many are equal
      Tensor costs = Tensor::uninitialized({1 + random.below(12)});
      for (Index i = 0; i < costs.size(); ++i)
        costs.mutable_data()[i] = static_cast<real>(random.below(6));
      return costs;
    };
    const Tensor positives = draw(), negatives = draw();
    double best = 0;
    for (double bound = -0.5; bound < 6; bound += 0.5) {
      Index right = 0;
      for (const real cost : positives.values()) right += cost <= bound;
      for (const real cost : negatives.values()) right += cost > bound;
      const double accuracy =
          static_cast<double>(right) / static_cast<double>(positives.size() + negatives.size());
      CHECK(threshold_accuracy(bound, positives, negatives) == Approx(accuracy));
      best = std::max(best, accuracy);
    }
    const auto [bound, accuracy] = best_threshold(positives, negatives);
    CHECK(accuracy == Approx(best));
    CHECK(threshold_accuracy(bound, positives, negatives) == Approx(best));
  }
}

TEST_CASE("thresholds lie between costs, or behind all", "[metrics]") {
  CHECK(best_threshold(Tensor({2}, {0, 1}), Tensor({1}, {2})).bound == 1.5);
  CHECK(best_threshold(Tensor({1}, {1}), Tensor({3}, {0, 0, 0})).bound == -infinity);
  CHECK(best_threshold(Tensor({3}, {1, 1, 1}), Tensor({1}, {0})).bound == infinity);
  CHECK_THROWS_AS(best_threshold(Tensor({1}, {no_number}), Tensor({1}, {1})), ArgumentError);
  CHECK_THROWS_AS(best_threshold(zeros({0}), Tensor({1}, {1})), ShapeError);
  CHECK_THROWS_AS(threshold_accuracy(0, zeros({1, 1}), Tensor({1}, {1})), ShapeError);
}
