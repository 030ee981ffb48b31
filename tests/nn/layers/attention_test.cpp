#include <catch2/catch.hpp>
#include <optional>

#include "support/golden.h"
#include "tapegrad/models/transformer.h"
#include "tapegrad/models/transformer_xl.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/layout.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

constexpr double precision = sizeof(real) == 8 ? 1e-9 : 1e-3;

// A module's parameters and the golden tensors that they take, both ways transposed if matrices.
struct Loaded {
  Parameter parameter;
  std::size_t golden;
};

Tensor turned(const Tensor& x) { return x.rank() == 2 ? transpose(x) : x; }

// Value and all gradients of f, whose parameters are loaded from a golden row in PyTorch's layout.
template <class F>
void check_module(const std::string& name, std::size_t inputs, const std::vector<Loaded>& loaded,
                  const F& f) {
  const Golden expected = golden("attention.json", name);
  for (const Loaded& each : loaded) {
    Parameter parameter = each.parameter;
    parameter.set(turned(expected.inputs[each.golden]));
  }
  for (const bool readable : {false, true}) {
    std::optional<Composite> composite;
    if (readable) composite.emplace();
    const Tape tape;
    std::vector<Tensor> leaves;
    for (std::size_t i = 0; i < inputs; ++i) leaves.push_back(watch(expected.inputs[i]));
    const Tensor value = f(leaves);
    CHECK(relative_error(value, expected.value) < golden_tolerance);
    for (const Loaded& each : loaded) leaves.push_back(each.parameter);
    const std::vector<Tensor> found = grad(value, leaves, {.seed = expected.seed});
    for (std::size_t i = 0; i < inputs; ++i)
      CHECK(relative_error(found[i], expected.gradients[i]) < golden_tolerance);
    for (std::size_t i = 0; i < loaded.size(); ++i) {
      INFO("parameter " << i);
      CHECK(relative_error(turned(found[inputs + i]), expected.gradients[loaded[i].golden]) <
            golden_tolerance);
    }
  }
}

const Indices two_of_three({2}, {2, 3});

}  // namespace

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

namespace {

Indices random_ids(const Shape& shape, Index vocabulary, Random& random) {
  Indices ids = Indices::uninitialized(shape);
  for (Index i = 0; i < ids.size(); ++i) ids.mutable_data()[i] = random.below(vocabulary);
  return ids;
}

Indices columns(const Indices& ids, Index begin, Index end) {
  const Index rows = ids.shape()[0], length = ids.shape()[1];
  Indices part = Indices::uninitialized({rows, end - begin});
  for (Index r = 0; r < rows; ++r)
    for (Index t = begin; t < end; ++t)
      part.mutable_data()[r * (end - begin) + t - begin] = ids.data()[r * length + t];
  return part;
}

TransformerModelOptions small(Positions positions, Activation activation = Activation::gelu) {
  return {.stack = {.layers = 2, .heads = 2, .channels = 8, .activation = activation},
          .positions = positions,
          .length = 12};
}

// Larger weights than the initial ones, so that nothing is hidden by being small.
template <class Net>
void enlarge(const Net& net, Random& random) {
  for (Parameter parameter : parameters(net))
    if (parameter.shape().rank() == 2) parameter.set(random.normal(parameter.shape(), 0, 0.4));
}

const Positions all_positions[] = {Positions::none, Positions::learned, Positions::sinusoidal,
                                   Positions::rotary, Positions::alibi};

}  // namespace

TEST_CASE("a later token changes nothing before it", "[attention]") {
  Random random(4);
  for (const Positions positions : all_positions) {
    CAPTURE(static_cast<int>(positions));
    const TransformerLm net(5, random, small(positions));
    enlarge(net, random);
    const Indices ids({1, 6}, {0, 1, 2, 3, 4, 0}), changed({1, 6}, {0, 1, 2, 3, 1, 1});
    const Tensor a = net(ids), b = net(changed);
    CHECK(relative_error(slice(b, 1, 0, 4), slice(a, 1, 0, 4)) == 0);
    CHECK(relative_error(slice(b, 1, 4, 6), slice(a, 1, 4, 6)) > 1e-3);
  }
}

TEST_CASE("cached decoding is full decoding", "[attention]") {
  Random random(5);
  for (const Positions positions : all_positions) {
    CAPTURE(static_cast<int>(positions));
    const TransformerLm net(5, random, small(positions, Activation::swiglu));
    enlarge(net, random);
    const Indices ids = random_ids({3, 9}, 5, random);
    const Tensor whole = net(ids);
    std::vector<AttentionCache> caches;
    std::vector<Tensor> pieces;
    Index at = 0;
    for (const Index count : {4, 1, 1, 3}) {
      pieces.push_back(net(columns(ids, at, at + count), {}, &caches));
      at += count;
    }
    CHECK(relative_error(concat(pieces, 1), whole) < precision);
  }
}

TEST_CASE("padding changes nothing", "[attention]") {
  Random random(6);
  for (const Positions positions : all_positions) {
    CAPTURE(static_cast<int>(positions));
    const TransformerClassifier net(7, 3, random, small(positions));
    enlarge(net, random);
    const Indices ids({2, 4}, {1, 2, 3, 4, 5, 6, 0, 0}), lengths({2}, {4, 2});
    const Tensor both_rows = net(ids, lengths);
    const Tensor alone = net(Indices({1, 2}, {5, 6}), Indices({1}, {2}));
    const Tensor other = net(Indices({2, 4}, {1, 2, 3, 4, 5, 6, 3, 2}), lengths);
    CHECK(relative_error(slice(both_rows, 0, 1, 2), alone) < precision);
    CHECK(relative_error(other, both_rows) == 0);

    const Translator translator(7, random, small(positions));
    enlarge(translator, random);
    const Indices target({2, 3}, {1, 2, 3, 4, 5, 6});
    const Tensor padded = translator(ids, lengths, target);
    const Tensor single =
        translator(Indices({1, 2}, {5, 6}), Indices({1}, {2}), Indices({1, 3}, {4, 5, 6}));
    CHECK(relative_error(slice(padded, 0, 1, 2), single) < precision);
    // and it decodes token by token
    std::vector<AttentionCache> caches;
    const Tensor memory = translator.encode(ids, lengths);
    std::vector<Tensor> steps;
    for (Index t = 0; t < 3; ++t)
      steps.push_back(translator.decode(memory, lengths, columns(target, t, t + 1), {}, &caches));
    CHECK(relative_error(concat(steps, 1), padded) < precision);
  }
}

// systems 2.9
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
          precision);
    CHECK(third.memory[0].shape() == Shape{2, 12, 8});
  }
  const TransformerXl none(5, random, {.stack = {.layers = 1, .channels = 8}, .memory = 0});
  CHECK(none(random_ids({1, 3}, 5, random)).memory.empty());
}

TEST_CASE("every norm at its places of a Transformer", "[attention][norm]") {
  Random random(10);
  const Tensor x = random.normal({2, 3, 8});
  for (const std::string& name : norm_names())
    for (const NormPlacement placement : {NormPlacement::pre, NormPlacement::post}) {
      DYNAMIC_SECTION(name << (placement == NormPlacement::pre ? " pre" : " post")) {
        const TransformerOptions options{
            .layers = 2, .heads = 2, .channels = 8, .norm = name, .placement = placement};
        if (name == "batch" || name == "instance") {
          CHECK_THROWS_WITH(TransformerStack(random, options), Contains(name));
          CHECK_THROWS_WITH(TransformerXl(5, random, {.stack = options}), Contains(name));
          continue;
        }
        const TransformerStack stack(random, options);
        const TransformerBlock& b = stack.blocks[0];
        const bool pre = placement == NormPlacement::pre;
        const Norm &n1 = b.attention_residual.norm, &n2 = b.feed_forward_residual.norm;
        CHECK(n1.spec.kind == NormSpec(name).kind);
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
  const TransformerLm untied(5, random, {.stack = {.layers = 1, .channels = 8}, .tied = false});
  CHECK(fields(untied).parameters().back().name == "output.weight");
  const Tensor row = sinusoids(3, 8, 2, -1);  // positions 2, 1, 0
  CHECK(relative_error(slice(row, 0, 2, 3), Tensor({1, 8}, {0, 0, 0, 0, 1, 1, 1, 1})) == 0);
  CHECK(row.data()[0] == Approx(std::sin(2)));
}

TEST_CASE("a model refuses texts longer than its positions", "[attention]") {
  Random random(13);
  const TransformerLm net(5, random, small(Positions::learned));
  CHECK_THROWS_WITH(net(Indices({1, 13}, std::vector<Index>(13, 0))), Contains("12"));
}

TEST_CASE("lengths of padded sequences are checked", "[attention]") {
  for (const Indices& wrong :
       {Indices({2}, {1, 4}), Indices({2}, {-1, 2}), Indices({1, 2}, {1, 2})})
    CHECK_THROWS_WITH(padding_mask(wrong, 3), Contains("padding_mask: lengths"));
  Random random(1);
  const TransformerClassifier net(5, 2, random, {.stack = {.channels = 8}, .length = 3});
  const Indices ids({2, 3}, {0, 1, 2, 3, 4, 0});
  CHECK_NOTHROW(net(ids, Indices({2}, {0, 3})));
  CHECK_THROWS_AS(net(ids, Indices({2}, {20, 3})), ShapeError);
  CHECK_THROWS_AS(net(ids, Indices({3}, {1, 2, 3})), ShapeError);
}
