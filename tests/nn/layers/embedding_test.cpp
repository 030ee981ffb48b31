#include "tapegrad/nn/layers/embedding.h"

#include <catch2/catch.hpp>

#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;

TEST_CASE("an embedding layer looks up its rows", "[nn]") {
  Random random(3);
  const Embedding embed(5, 2, random);
  const Tensor y = embed(Indices({3}, {4, 0, 4}));
  CHECK(y.shape() == Shape{3, 2});
  CHECK(y.data()[0] == embed.weight.value().data()[8]);
  const Tape tape;
  const Tensor dw = grad(sum(embed(Indices({3}, {4, 0, 4}))), std::vector{embed.weight})[0];
  CHECK(dw.data()[8] == 2);
  CHECK(dw.data()[0] == 1);
  CHECK(dw.data()[2] == 0);
}
