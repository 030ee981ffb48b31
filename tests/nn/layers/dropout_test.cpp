#include "tapegrad/nn/layers/dropout.h"

#include <catch2/catch.hpp>

#include "tapegrad/nn/layers/sequential.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;

TEST_CASE("dropout acts in training only, through containers", "[nn]") {
  Random random(1);
  const Sequential net{Dropout{0.5}};
  const Tensor x = ones({1000});
  CHECK(sum(net(x)).item() == 1000);
  CHECK(min(net(x, training(random))).item() == 0);
}
