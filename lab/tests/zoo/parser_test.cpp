#include "tapegrad/zoo/parser.h"

#include <catch2/catch.hpp>

#include "support/golden.h"
#include "tapegrad/core/error.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/norm.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;

TEST_CASE("a parser's net embeds features side by side and norms before both activations",
          "[models]") {
  Random random(1);
  const TransitionParser net(7, 3, 4, random, {.embedding = 2, .hidden = 16, .norm = "layer"});
  const std::vector<Parameter> w = parameters(net);
  REQUIRE(w.size() == 11);
  for (const std::size_t i : {3, 4, 7, 8}) Parameter(w[i]).set(random.normal(w[i].shape()));
  const Indices features({2, 3}, {6, 0, 3, 1, 1, 5});
  const auto composed = [&] {
    const Tensor x = reshape(embedding(w[0], features), {2, 6});
    const Tensor first = relu(layer_norm(linear(x, w[1], w[2])) * w[3] + w[4]);
    const Tensor second = relu(layer_norm(linear(first, w[5], w[6])) * w[7] + w[8]);
    return linear(second, w[9], w[10]);
  };
  CHECK(composed().shape() == Shape{2, 4});
  CHECK(relative_error(net(features), composed()) < golden_tolerance);

  const Tensor u = random.normal({2, 4});
  const Tape tape;
  const std::vector<Tensor> gradients = grad(sum(net(features) * u), w);
  const std::vector<Tensor> expected = grad(sum(composed() * u), w);
  for (std::size_t i = 0; i < w.size(); ++i) {
    INFO(w[i].name());
    CHECK(max(abs(expected[i])).item() > 0);
    CHECK(relative_error(gradients[i], expected[i]) < golden_tolerance);
  }
}

TEST_CASE("a parser's net drops after both activations, in training only", "[models]") {
  Random random(2), masks(3);
  const TransitionParser net(7, 3, 4, random, {.embedding = 8, .hidden = 40, .dropout = 0.5});
  const Indices features({1, 3}, {6, 0, 3});
  CHECK(relative_error(net(features), net(features)) == 0);
  CHECK(relative_error(net(features, training(masks)), net(features)) > 1e-3);
  CHECK_THROWS_AS(net(Indices({1, 3}, {7, 0, 3})), ShapeError);
  CHECK_THROWS_AS(TransitionParser(7, 0, 4, random), ArgumentError);
  CHECK_THROWS_AS(TransitionParser(7, 3, 4, random, {.dropout = 1}), ArgumentError);
}
