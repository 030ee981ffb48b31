#include <catch2/catch.hpp>

#include <cmath>
#include <set>
#include <vector>

#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;

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

TEST_CASE("a stream continues where its state says", "[random]") {
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
