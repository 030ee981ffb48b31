#include "tapegrad/models/char_rnn.h"

#include <catch2/catch.hpp>

#include "models/nets.h"
#include "support/golden.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"

using namespace tapegrad;
using namespace tapegrad::testing;

TEST_CASE("a character model is embeddings, a recurrent net and a linear layer", "[models]") {
  Random random(1);
  const CharRnn net(5, random, {.cell = Cell::rnn_tanh, .embedding = 3, .hidden = 4});
  const Indices ids({3, 2}, {0, 1, 4, 3, 2, 2});
  const auto [logits, last] = net(ids);
  CHECK(logits.shape() == Shape{3, 2, 5});
  REQUIRE(last.size() == 1);
  const RecurrentLayer& layer = net.recurrent.layers[0];
  Tensor h = zeros({2, 4});
  for (Index t = 0; t < 3; ++t) {
    std::vector<Tensor> rows;
    for (Index b = 0; b < 2; ++b)
      rows.push_back(select(net.embedding.weight, ids.data()[2 * t + b]));
    h = tanh(linear(stack(rows), layer.input.weight, layer.input.bias) + matmul(h, layer.weight));
    const Tensor expected = linear(h, net.output.weight, net.output.bias);
    CHECK(relative_error(select(logits, t), expected) < golden_tolerance);
  }
  CHECK(relative_error(last[0].h, h) < golden_tolerance);
}

TEST_CASE("a character model goes on from its states", "[models]") {
  Random random(2);
  const CharRnn net(7, random, {.embedding = 3, .hidden = 4, .recurrent = {.layers = 2}});
  const Indices ids = random_ids({6, 2}, 7, random);
  const auto first = net(Indices({4, 2}, ids.values().subspan(0, 8)));
  REQUIRE(first.last.size() == 2);
  const auto second = net(Indices({2, 2}, ids.values().subspan(8)), first.last);
  CHECK(relative_error(concat({first.logits, second.logits}), net(ids).logits) < golden_tolerance);
}

TEST_CASE("a character model drops embeddings and outputs, in training only", "[models]") {
  Random random(3), mask(4);
  const CharRnn net(7, random, {.embedding = 8, .hidden = 8, .dropout = 0.5});
  const Indices ids = random_ids({3, 2}, 7, random);
  CHECK(relative_error(net(ids).logits, net(ids).logits) == 0);
  CHECK(relative_error(net(ids, {}, training(mask)).logits, net(ids).logits) > 1e-3);
}

TEST_CASE("derivatives of a character model", "[models]") {
  Random random(5);
  const CharRnn net(
      5, random, {.cell = Cell::lstm, .embedding = 3, .hidden = 4, .recurrent = {.norm = "layer"}});
  const Indices ids = random_ids({3, 2}, 5, random);
  const Function of_state = [&](const std::vector<Tensor>& in) {
    return net(ids, {{in[0], in[1]}}).logits;
  };
  const CheckResult result =
      check_gradient(of_state, {random.normal({2, 4}), random.normal({2, 4})});
  INFO(result.message);
  CHECK(result);
  check_parameters(net, [&] { return net(ids).logits; });
}
