#include "tapegrad/nn/layers/linear.h"

#include <catch2/catch.hpp>

#include "tapegrad/nn/layers/attention.h"
#include "tapegrad/nn/layers/norm.h"
#include "tapegrad/nn/layers/recurrent.h"
#include "tapegrad/nn/layers/sequential.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/elementwise.h"

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

TEST_CASE("layers are recorded at the line that calls them", "[nn]") {
  Random random(1);
  const Linear linear(4, 4, random, {.weight_norm = true});
  const Recurrent recurrent(Cell::lstm, 4, 4, random, {.norm = "layer"});
  const Sequential chain{linear, Norm("layer", 4), relu};
  const SelfAttention attention(4, random, {.heads = 2, .causal = true});
  const Tape tape;
  const Tensor x = watch(ones({2, 3, 4}));
  const int line = __LINE__ + 1;
  const std::vector<Tensor> ys{linear(x), chain(x), attention(x), recurrent(x).outputs};
  CHECK(tape.size() > 10);
  for (std::int32_t i = 0; i < tape.size(); ++i) {
    const Node& node = tape.node(i);
    INFO(node.name);
    if (tape.parameter(i) == nullptr && i != x.node())
      CHECK(to_string(node.place) == fmt::format("linear_test.cpp:{}", line));
  }
}
