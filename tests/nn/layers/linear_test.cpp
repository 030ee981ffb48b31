#include "tapegrad/nn/layers/linear.h"

#include <catch2/catch.hpp>

#include "tapegrad/ops/check.h"

using namespace tapegrad;

TEST_CASE("layers have right derivatives of their input, first and second", "[nn]") {
  Random random(2);
  const Function linear = [](const std::vector<Tensor>& in) {
    Random fresh(1);
    Linear layer(3, 2, fresh);
    return layer(in[0]);
  };
  const Tensor x = random.normal({4, 3});
  CHECK(check_gradient(linear, {x}));
  CHECK(check_second_gradient(linear, {x}));
}
