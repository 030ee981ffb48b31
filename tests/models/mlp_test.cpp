#include "tapegrad/models/mlp.h"

#include <catch2/catch.hpp>

#include "models/nets.h"
#include "support/golden.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/norm.h"

using namespace tapegrad;
using namespace tapegrad::testing;

TEST_CASE("an MLP is linear layers with a norm and ReLU between them", "[models]") {
  Random random(1);
  const Mlp net({6, 5, 4, 3}, random, {.norm = "layer"});
  // weight, bias, gain and bias of the norm, twice; weight, bias
  const std::vector<Parameter> w = parameters(net);
  REQUIRE(w.size() == 10);
  for (const std::size_t i : {2, 3, 6, 7}) Parameter(w[i]).set(random.normal(w[i].shape()));
  const Tensor x = random.normal({7, 2, 3});
  const Tensor first = relu(layer_norm(linear(x.view({7, 6}), w[0], w[1])) * w[2] + w[3]);
  const Tensor second = relu(layer_norm(linear(first, w[4], w[5])) * w[6] + w[7]);
  const Tensor expected = linear(second, w[8], w[9]);
  CHECK(expected.shape() == Shape{7, 3});
  CHECK(relative_error(net(x), expected) < golden_tolerance);
}

TEST_CASE("an MLP drops after each ReLU, in training only", "[models]") {
  Random random(2), mask(3);
  const Mlp plain({4, 50, 2}, random);
  CHECK(relative_error(plain(ones({1, 4}), training(mask)), plain(ones({1, 4}))) == 0);
  const Mlp net({4, 50, 2}, random, {.dropout = 0.5});
  CHECK(relative_error(net(ones({1, 4})), net(ones({1, 4}))) == 0);
  CHECK(relative_error(net(ones({1, 4}), training(mask)), net(ones({1, 4}))) > 1e-3);
}

TEST_CASE("derivatives of an MLP", "[models]") {
  Random random(4);
  const Mlp net({3, 4, 2}, random, {.norm = "layer"});
  CHECK(parameter_count(net) == 3 * 4 + 4 + 2 * 4 + 4 * 2 + 2);
  const Tensor x = random.normal({2, 3});
  const CheckResult result = check_gradient([&](const auto& in) { return net(in[0]); }, {x});
  INFO(result.message);
  CHECK(result);
  check_parameters(net, [&] { return net(x); });
}

TEST_CASE("an MLP takes any activation", "[models]") {
  Random random(3);
  const Mlp net({4, 5, 3}, random, {.activation = silu});
  const std::vector<Parameter> w = parameters(net);
  const Tensor x = random.normal({2, 4});
  const Tensor expected = linear(silu(linear(x, w[0], w[1])), w[2], w[3]);
  CHECK(relative_error(net(x), expected) < golden_tolerance);
}
