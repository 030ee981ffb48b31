#include "tapegrad/nn/layers/transformer.h"

#include <catch2/catch.hpp>

#include "nn/layers/check_module.h"
#include "support/golden.h"
#include "tapegrad/models/transformer.h"
#include "tapegrad/models/transformer_xl.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/elementwise.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

TEST_CASE("a Transformer's layer agrees with PyTorch", "[attention]") {
  Random random(3);
  for (const char* name : {"layer_post", "layer_pre", "layer_pre_gelu_padded"}) {
    DYNAMIC_SECTION(name) {
      const std::string text = name;
      const TransformerBlock block(
          random,
          {.heads = 2,
           .channels = 4,
           .feed_forward = 6,
           .activation = text.ends_with("gelu_padded") ? Activation::gelu : Activation::relu,
           .placement = text == "layer_post" ? NormPlacement::post : NormPlacement::pre});
      const Tensor mask = text.ends_with("padded") ? padding_mask(two_of_three, 3) : Tensor();
      // linear1, linear2, norm1, norm2, self_attn.in_proj, self_attn.out_proj: bias, then weight
      check_module(name, 1,
                   {{block.feed_forward.up.bias, 1},
                    {block.feed_forward.up.weight, 2},
                    {block.feed_forward.down.bias, 3},
                    {block.feed_forward.down.weight, 4},
                    {block.attention_residual.norm.bias, 5},
                    {block.attention_residual.norm.gain, 6},
                    {block.feed_forward_residual.norm.bias, 7},
                    {block.feed_forward_residual.norm.gain, 8},
                    {block.attention.projection.bias, 9},
                    {block.attention.projection.weight, 10},
                    {block.attention.output.bias, 11},
                    {block.attention.output.weight, 12}},
                   [&](const auto& in) { return block(in[0], {.mask = mask}); });
    }
  }
}

TEST_CASE("every norm at its places of a Transformer", "[attention][norm]") {
  Random random(10);
  const Tensor x = random.normal({2, 3, 8});
  for (const std::string& name : norm_names())
    for (const NormPlacement placement : {NormPlacement::pre, NormPlacement::post}) {
      DYNAMIC_SECTION(name << (placement == NormPlacement::pre ? " pre" : " post")) {
        const TransformerOptions options{
            .layers = 2, .heads = 2, .channels = 8, .norm = name, .placement = placement};
        const NormSpec spec(name);
        if (spec.method->mixes_samples || spec.method->needs_positions) {
          CHECK_THROWS_WITH(TransformerStack(random, options), Contains(name));
          CHECK_THROWS_WITH(TransformerXl(5, random, {.stack = options}), Contains(name));
          continue;
        }
        const TransformerStack stack(random, options);
        const TransformerBlock& b = stack.blocks[0];
        const bool pre = placement == NormPlacement::pre;
        const Norm &n1 = b.attention_residual.norm, &n2 = b.feed_forward_residual.norm;
        CHECK(n1.spec.method->name == spec.method->name);
        const Tensor middle = pre ? x + b.attention(n1(x)) : n1(x + b.attention(x));
        const Tensor end =
            pre ? middle + b.feed_forward(n2(middle)) : n2(middle + b.feed_forward(middle));
        CHECK(relative_error(b(x), end) == 0);
        CHECK(stack.last_norm.has_value() == pre);
        const Tensor last = stack.blocks[1](b(x));
        CHECK(relative_error(stack(x), pre ? (*stack.last_norm)(last) : last) == 0);
        CHECK(b.attention.projection.gain.defined() == (name == "weight"));
        CHECK(b.feed_forward.up.gain.defined() == (name == "weight"));
      }
    }
}

TEST_CASE("each kind of dropout has its own rate, by default the common one", "[attention]") {
  Random random(12);
  const auto rates = [&](const TransformerOptions& options) {
    const TransformerBlock block(random, options, true);
    CHECK(block.cross->options.dropout == block.attention.options.dropout);
    CHECK(block.cross_residual->dropout.rate == block.attention_residual.dropout.rate);
    CHECK(block.feed_forward_residual.dropout.rate == block.attention_residual.dropout.rate);
    return std::vector{block.attention_residual.dropout.rate, block.attention.options.dropout,
                       block.feed_forward.dropout.rate};
  };
  CHECK(rates({.channels = 8, .dropout = 0.3}) == std::vector{0.3, 0.3, 0.3});
  CHECK(rates({.channels = 8, .dropout = 0.3, .attention_dropout = 0.1, .activation_dropout = 0}) ==
        std::vector{0.3, 0.1, 0.0});
}

TEST_CASE("derivatives through Transformers", "[attention]") {
  Random random(11);
  for (const Activation activation : {Activation::gelu, Activation::swiglu})
    for (const bool rotary : {false, true}) {
      const TransformerStack stack(random,
                                   {.layers = 1,
                                    .heads = 2,
                                    .channels = 4,
                                    .activation = activation,
                                    .causal = true,
                                    .rotary = rotary},
                                   true);
      const Function f = [&](const std::vector<Tensor>& in) {
        return stack(in[0], {.memory = in[1]});
      };
      const std::vector<Tensor> inputs{random.normal({1, 3, 4}), random.normal({1, 2, 4})};
      const CheckResult first = check_gradient(f, inputs),
                        second = check_second_gradient(f, inputs);
      INFO(first.message << second.message);
      CHECK(first);
      CHECK(second);
    }
  const RelativeAttention relative(4, random, {.heads = 2});
  const Function g = [&](const std::vector<Tensor>& in) { return relative(in[0], in[1]); };
  const std::vector<Tensor> inputs{random.normal({1, 2, 4}), random.normal({1, 3, 4})};
  CHECK(check_gradient(g, inputs));
  CHECK(check_second_gradient(g, inputs));
}
