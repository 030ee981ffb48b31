#include "tapegrad/nn/layers/attention.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "nn/layers/check_module.h"
#include "support/golden.h"
#include "tapegrad/core/error.h"
#include "tapegrad/models/transformer.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;

TEST_CASE("multi-head attention agrees with PyTorch", "[attention]") {
  Random random(1);
  for (const char* name : {"self", "self_padded", "self_causal"}) {
    DYNAMIC_SECTION(name) {
      const bool causal = name == std::string("self_causal");
      const SelfAttention attention(4, random, {.heads = 2, .causal = causal});
      const Tensor mask =
          name == std::string("self_padded") ? padding_mask(two_of_three, 3) : Tensor();
      // in_proj_bias, in_proj_weight, out_proj.bias, out_proj.weight
      check_module(name, 1,
                   {{attention.projection.bias, 1},
                    {attention.projection.weight, 2},
                    {attention.output.bias, 3},
                    {attention.output.weight, 4}},
                   [&](const auto& in) { return attention(in[0], mask); });
    }
  }
}

TEST_CASE("attention to another sequence agrees with PyTorch", "[attention]") {
  Random random(2);
  const CrossAttention attention(4, random, {.heads = 2});
  const Golden expected = golden("attention.json", "cross");
  const Tensor bias = expected.inputs[2], weight = transpose(expected.inputs[3]);
  Parameter(attention.query.bias).set(slice(bias, 0, 0, 4));
  Parameter(attention.key_value.bias).set(slice(bias, 0, 4, 12));
  Parameter(attention.query.weight).set(slice(weight, 1, 0, 4));
  Parameter(attention.key_value.weight).set(slice(weight, 1, 4, 12));
  check_module("cross", 2, {{attention.output.bias, 4}, {attention.output.weight, 5}},
               [&](const auto& in) { return attention(in[0], in[1]); });
  const Tape tape;
  const Tensor y = attention(expected.inputs[0], expected.inputs[1]);
  const std::vector<Tensor> found =
      grad(y, {Tensor(attention.query.weight), Tensor(attention.key_value.weight)},
           {.seed = expected.seed});
  CHECK(relative_error(transpose(concat(found, 1)), expected.gradients[3]) < golden_tolerance);
}

TEST_CASE("options of attention have an effect", "[attention]") {
  Random random(12);
  const Tensor x = random.normal({2, 5, 8});
  Random mask(1);
  const SelfAttention dropped(8, random, {.heads = 2, .dropout = 0.5});
  CHECK(relative_error(dropped(x, {}, training(mask)), dropped(x)) > 1e-3);
  CHECK_FALSE(SelfAttention(8, random, {.bias = false}).output.bias.defined());
  const Tensor bias = alibi_bias(2, 2, 3);
  CHECK(relative_error(bias, Tensor({2, 2, 3}, {-1. / 16, 0, 1. / 16, -2. / 16, -1. / 16, 0,
                                                -1. / 256, 0, 1. / 256, -2. / 256, -1. / 256, 0})) <
        1e-6);
  CHECK(relative_error(alibi_bias(1, 1, Indices({2, 3}, {0, 0, 1, 5, 2, 3})),
                       Tensor({2, 1, 1, 3}, {-1. / 256, -1. / 256, 0, 2. / 256, -1. / 256, 0})) <
        1e-6);
  const TransformerLm untied(5, random, {.stack = {.layers = 1, .channels = 8}, .tied = false});
  CHECK(fields(untied).parameters().back().name == "output.weight");
  const Tensor row = sinusoids(3, 8, 2, -1);  // positions 2, 1, 0
  CHECK(relative_error(slice(row, 0, 2, 3), Tensor({1, 8}, {0, 0, 0, 0, 1, 1, 1, 1})) == 0);
  CHECK(row.data()[0] == Approx(std::sin(2)));
}

TEST_CASE("the weights of cross-attention make its output", "[attention]") {
  Random random(9);
  const CrossAttention cross(8, random, {.heads = 1});
  const Tensor x = random.normal({2, 3, 8}), memory = random.normal({2, 4, 8});
  const Tensor mask = padding_mask(Indices({2}, {4, 2}), 4);
  const Tensor weights = cross.weights(x, memory, mask);
  CHECK(weights.shape() == Shape{2, 1, 3, 4});
  const Tensor values = slice(cross.key_value(memory), -1, 8, 16);
  const Tensor expected = cross.output(matmul(select(weights, 0, 1), values));
  CHECK(relative_error(cross(x, memory, mask), expected) < golden_tolerance);
  CHECK(max(abs(slice(slice(weights, 0, 1, 2), -1, 2, 4))).item() == 0);
}

TEST_CASE("a cache keeps what cross-attention has projected, and selects rows", "[attention]") {
  Random random(10);
  const CrossAttention cross(8, random, {.heads = 2});
  const Tensor x = random.normal({3, 1, 8}), memory = random.normal({3, 4, 8});
  const Tensor expected = cross(x, memory);
  AttentionCache cache;
  CHECK(relative_error(cross(x, memory, {}, {}, &cache), expected) == 0);
  CHECK(relative_error(cross(x, zeros({3, 4, 8}), {}, {}, &cache), expected) == 0);
  cache.append(x, x);
  AttentionCache same = cache;
  same.select(Indices({3}, {2, 1, 0}), true);
  CHECK(same.memory_keys.data() == cache.memory_keys.data());
  CHECK(same.memory_values.data() == cache.memory_values.data());
  CHECK(relative_error(same.keys, flip(x, {0})) == 0);
  CHECK(relative_error(same.values, flip(x, {0})) == 0);
  const Indices rows({4}, {2, 0, 0, 1});
  cache.select(rows);
  CHECK(relative_error(cross(embedding(x, rows), zeros({4, 4, 8}), {}, {}, &cache),
                       embedding(expected, rows)) < golden_tolerance);
  CHECK_THROWS_AS(cache.select(Indices({1}, {4})), ShapeError);
}

TEST_CASE("a cache with room keeps positions in their place", "[attention]") {
  Random random(11);
  AttentionCache cache;
  std::vector<Tensor> keys, values;
  const auto append = [&](Index count) {
    keys.push_back(random.normal({2, count, 4}));
    values.push_back(random.normal({2, count, 4}));
    cache.append(keys.back(), values.back());
  };
  const auto holds_all = [&](const AttentionCache& kept) {
    return relative_error(slice(kept.keys, 1, 0, kept.length()), concat(keys, 1)) == 0 &&
           relative_error(slice(kept.values, 1, 0, kept.length()), concat(values, 1)) == 0;
  };
  append(2);
  keys[0] = keys[0] + 0;  // so that nothing else shares the cache
  values[0] = values[0] + 0;
  append(1);  // makes room for as many
  CHECK(cache.room == 3);
  const real* const place = cache.keys.data();
  append(1);
  append(2);
  CHECK(cache.room == 0);
  CHECK(cache.keys.data() == place);
  CHECK(cache.length() == 6);
  CHECK(holds_all(cache));
  append(1);
  CHECK(cache.room == 7);
  CHECK(holds_all(cache));

  SECTION("what shares it stays as it is") {
    const AttentionCache before = cache;
    const std::vector<Tensor> kept_keys = keys, kept_values = values;
    append(1);
    CHECK(cache.length() == 8);
    CHECK(holds_all(cache));
    keys = kept_keys, values = kept_values;
    CHECK(before.length() == 7);
    CHECK(holds_all(before));
  }
  SECTION("chosen rows keep their room") {
    cache.select(Indices({3}, {1, 1, 0}));
    for (std::vector<Tensor>* each : {&keys, &values})
      for (Tensor& x : *each) x = embedding(x, Indices({3}, {1, 1, 0}));
    CHECK(holds_all(cache));
    CHECK(cache.room == 7);
  }
  SECTION("what is recorded keeps its gradient") {
    const Tape tape;
    const Tensor x = watch(random.normal({2, 1, 4}));
    cache.append(x, x);
    cache.append(random.normal({2, 1, 4}), random.normal({2, 1, 4}));
    CHECK(cache.length() == 9);
    CHECK(relative_error(grad(sum(square(slice(cache.keys, 1, 0, 9))), x), 2 * x) < 1e-6);
  }
  SECTION("what does not fit is refused") {
    CHECK_THROWS_AS(cache.append(zeros({3, 1, 4}), zeros({3, 1, 4})), ShapeError);
    CHECK_THROWS_AS(cache.append(zeros({2, 1, 4}), {}), ShapeError);
    CHECK_THROWS_AS(cache.append(zeros({2, 1, 4}), zeros({3, 1, 4})), ShapeError);
    CHECK_THROWS_AS(cache.append(zeros({4}), zeros({4})), ShapeError);
    CHECK_THROWS_WITH(cache.append(zeros({2, 1, 4}), zeros({2, 2, 4})),
                      Catch::StartsWith("AttentionCache: keys (2, 1, 4) and values (2, 2, 4) are"));
    CHECK(cache.length() == 7);
    CHECK(holds_all(cache));
  }
}
