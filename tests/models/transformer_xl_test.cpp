#include "tapegrad/models/transformer_xl.h"

#include <catch2/catch.hpp>

#include "models/nets.h"
#include "support/golden.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

constexpr double transformer_xl_precision = sizeof(real) == 8 ? 1e-9 : 1e-3;

}  // namespace

TEST_CASE("a memory of all that came before is one long segment", "[attention]") {
  Random random(7);
  for (const NormPlacement placement : {NormPlacement::pre, NormPlacement::post}) {
    const TransformerXl net(
        5, random,
        {.stack = {.layers = 3, .heads = 2, .channels = 8, .placement = placement}, .memory = 12});
    enlarge(net, random);
    for (const auto& block : net.blocks) {
      Parameter(block.attention.content_bias).set(random.normal({8}));
      Parameter(block.attention.position_bias).set(random.normal({8}));
    }
    const Indices ids = random_ids({2, 12}, 5, random);
    const Tensor whole = net(ids).logits;
    const auto first = net(columns(ids, 0, 4));
    const auto second = net(columns(ids, 4, 9), first.memory);
    const auto third = net(columns(ids, 9, 12), second.memory);
    CHECK(relative_error(concat({first.logits, second.logits, third.logits}, 1), whole) <
          transformer_xl_precision);
    CHECK(third.memory[0].shape() == Shape{2, 12, 8});
  }
  const TransformerXl none(5, random, {.stack = {.layers = 1, .channels = 8}, .memory = 0});
  CHECK(none(random_ids({1, 3}, 5, random)).memory.empty());
}

TEST_CASE("a Transformer-XL is embeddings, blocks, a norm and the embedding transposed",
          "[models]") {
  Random random(8);
  const TransformerXl net(5, random, {.stack = {.layers = 1, .heads = 2, .channels = 8}});
  enlarge(net, random);
  const Indices ids = random_ids({2, 3}, 5, random);
  const Tensor memory = random.normal({2, 4, 8});
  const Tensor x = embedding(net.tokens.weight, ids);
  const Tensor expected =
      matmul((*net.last_norm)(net.blocks[0](x, memory, {})), transpose(net.tokens.weight));
  const auto [logits, next] = net(ids, {memory});
  CHECK(logits.shape() == Shape{2, 3, 5});
  CHECK(relative_error(logits, expected) < golden_tolerance);
  REQUIRE(next.size() == 1);
  CHECK(relative_error(next[0], concat({memory, x}, 1)) == 0);
}

TEST_CASE("the memory of a Transformer-XL is cut and a constant", "[models]") {
  Random random(9);
  const TransformerXl net(5, random, {.stack = {.layers = 2, .channels = 8}, .memory = 4});
  const Tape tape;
  const auto first = net(random_ids({1, 3}, 5, random));
  CHECK(first.memory[1].shape() == Shape{1, 3, 8});
  const auto second = net(random_ids({1, 3}, 5, random), first.memory);
  CHECK(second.memory[1].shape() == Shape{1, 4, 8});
  CHECK_THROWS_WITH(grad(sum(second.memory[1]), net.tokens.weight), Contains("not recorded"));
  CHECK_THROWS_WITH(net(random_ids({1, 3}, 5, random), {first.memory[0]}),
                    "transformer_xl: needs one memory for each of 2 blocks: 1 given");
}

TEST_CASE("derivatives of a Transformer-XL", "[models]") {
  Random random(10);
  const TransformerXl net(5, random, {.stack = {.layers = 1, .heads = 2, .channels = 4}});
  enlarge(net, random);
  const Indices ids = random_ids({2, 3}, 5, random);
  const Tensor memory = random.normal({2, 2, 4});
  const CheckResult result =
      check_gradient([&](const auto& in) { return net(ids, in).logits; }, {memory});
  INFO(result.message);
  CHECK(result);
  check_parameters(net, [&] { return net(ids, {memory}).logits; });
}
