#include <catch2/catch.hpp>

#include <cmath>
#include <set>
#include <vector>

#include "support/values.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;

TEST_CASE("uniform and normal numbers have their moments", "[random]") {
  Random random(1);
  const Tensor u = random.uniform({200'000}, -1, 3);
  CHECK(mean(u).item() == Approx(1).margin(0.02));
  CHECK(var(u).item() == Approx(16.0 / 12).margin(0.03));
  for (const real value : u.values()) REQUIRE((value >= -1 && value < 3));
  const Tensor n = random.normal({200'000}, 2, 3);
  CHECK(mean(n).item() == Approx(2).margin(0.03));
  CHECK(stddev(n).item() == Approx(3).margin(0.03));
  CHECK(mean(random.bernoulli({200'000}, 0.3)).item() == Approx(0.3).margin(0.01));
  CHECK_THROWS_AS(random.bernoulli({1}, 1.5), ArgumentError);
}

TEST_CASE("a stream continues from its state", "[random]") {
  Random random(5);
  random.normal({17});
  const auto state = random.state();
  const Tensor expected = random.uniform({9});
  Random other(99);
  other.restore(state);
  const Tensor found = other.uniform({9});
  for (Index i = 0; i < 9; ++i) CHECK(found.data()[i] == expected.data()[i]);
}

TEST_CASE("streams are independent and depend on seed and name alone", "[random]") {
  Random random(5);
  const double first = random.stream(1).uniform();
  random.normal({100});
  CHECK(random.stream(1).uniform() == first);
  CHECK(random.stream(2).uniform() != first);
  CHECK(Random(6).stream(1).uniform() != first);
}

TEST_CASE("a permutation names everything once", "[random]") {
  const Indices order = Random(3).permutation(1000);
  const std::set<Index> seen(order.values().begin(), order.values().end());
  CHECK(seen.size() == 1000);
  CHECK(Random(3).permutation(0).size() == 0);
}

TEST_CASE("positions are drawn with the weights of their row", "[random]") {
  Random random(3);
  constexpr Index draws = 30'000;
  const Tensor weights = tile(Tensor({1, 4}, {1, 0, 2, 5}), {draws, 1});
  std::vector<double> counts(4);
  for (const Index position : random.categorical(weights).values())
    ++counts[static_cast<std::size_t>(position)];
  for (std::size_t i = 0; i < 4; ++i) {
    const double p = weights.values()[i] / 8, deviation = std::sqrt(draws * p * (1 - p));
    CHECK(std::abs(counts[i] - draws * p) <= 4 * deviation);
  }
  CHECK(random.categorical(ones({2, 3, 1})).shape() == Shape{2, 3});
  CHECK(random.categorical(zeros({0, 3})).shape() == Shape{0});
}

TEST_CASE("weights that are not probabilities are refused by row", "[random]") {
  Random random(1);
  for (const real bad : {real{-1}, infinity, no_number})
    CHECK_THROWS_WITH(random.categorical(Tensor({2, 2}, {1, 1, bad, 2})),
                      Catch::StartsWith("categorical: the weights of row 1 are negative"));
  CHECK_THROWS_AS(random.categorical(zeros({3})), ArgumentError);
  CHECK_THROWS_AS(random.categorical(zeros({2, 0})), ArgumentError);
  CHECK_THROWS_AS(random.categorical(Tensor(1)), ShapeError);
}
