#include "tapegrad/nn/functions/dropout.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "support/golden.h"
#include "support/values.h"
#include "tapegrad/core/random.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/derivatives.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

TEST_CASE("dropout keeps the mean and repeats for a seed", "[ops]") {
  Random random(4);
  const Tensor x = ones({100'000});
  const Tensor y = dropout(x, 0.25, random);
  CHECK(mean(y).item() == Approx(1).margin(0.02));
  CHECK(max(y).item() == Approx(1 / 0.75));
  Random again(4);
  CHECK(relative_error(dropout(x, 0.25, again), y) == 0);
  CHECK(relative_error(dropout(x, 0, again), x) == 0);
  CHECK_THROWS_WITH(dropout(x, 1, random), Contains("dropout") && Contains("[0, 1)"));
  {
    const Composite readable;
    Random definition(4);
    CHECK(relative_error(dropout(x, 0.25, definition), y) < golden_tolerance);
    CHECK(definition.state() == Random(again).state());
  }
  CHECK(dropout(zeros({0, 3}), 0.5, random).shape() == Shape{0, 3});
  const Function f = [](const std::vector<Tensor>& in) {
    Random fixed(9);
    return dropout(square(in[0]), 0.5, fixed);
  };
  CHECK(check_gradient(f, {Random(1).normal({3, 4})}));
  CHECK(check_second_gradient(f, {Random(1).normal({3, 4})}));
}

TEST_CASE("what is not a finite number is not dropped", "[ops]") {
  const auto nans = [](const Tensor& y) {
    return std::ranges::count_if(y.values(), [](real value) { return std::isnan(value); });
  };
  const auto check = [&] {
    Random random(7);
    const Tensor y = dropout(full({100}, infinity), 0.5, random);
    CHECK(nans(y) > 0);  // infinity times 0
    CHECK(nans(y) + std::ranges::count(y.values(), infinity) == 100);
    CHECK(nans(dropout(full({100}, std::nan("")), 0.5, random)) == 100);
  };
  check();
  const Composite readable;
  check();
}
