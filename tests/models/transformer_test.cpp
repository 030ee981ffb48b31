#include "tapegrad/models/transformer.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "models/nets.h"
#include "support/golden.h"
#include "tapegrad/core/error.h"
#include "tapegrad/io/examples.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"
#include "tapegrad/ops/softmax.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

constexpr double transformer_precision = sizeof(real) == 8 ? 1e-9 : 1e-3;

TransformerModelOptions small(Positions positions, Activation activation = Activation::gelu) {
  return {.stack = {.layers = 2, .heads = 2, .channels = 8, .activation = activation},
          .positions = positions,
          .length = 12};
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

TEST_CASE("sinusoidal positions enlarge the embeddings by sqrt(channels)", "[attention]") {
  Random random(4);
  TokenEmbedding embedding(1, 4, 1, Positions::sinusoidal, random);
  embedding.tokens.weight.set(Tensor({1, 4}, {1, 2, 3, 4}));
  // At position 0 both sines are 0, and both cosines are 1.
  CHECK(sum(embedding(Indices({1, 1}, {0}))).item() == Approx(2 * 10 + 2));
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
    CHECK(relative_error(concat(pieces, 1), whole) < transformer_precision);
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
    CHECK(relative_error(slice(both_rows, 0, 1, 2), alone) < transformer_precision);
    CHECK(relative_error(other, both_rows) == 0);

    const Translator translator(7, random, small(positions));
    enlarge(translator, random);
    const Indices target({2, 3}, {1, 2, 3, 4, 5, 6});
    const Tensor padded = translator(ids, lengths, target);
    const Tensor single =
        translator(Indices({1, 2}, {5, 6}), Indices({1}, {2}), Indices({1, 3}, {4, 5, 6}));
    CHECK(relative_error(slice(padded, 0, 1, 2), single) < transformer_precision);
    // and it decodes token by token
    std::vector<AttentionCache> caches;
    const Tensor memory = translator.encode(ids, lengths);
    std::vector<Tensor> steps;
    for (Index t = 0; t < 3; ++t)
      steps.push_back(translator.decode(memory, lengths, columns(target, t, t + 1), {}, &caches));
    CHECK(relative_error(concat(steps, 1), padded) < transformer_precision);
  }
}

namespace {

// A few units in the last place.
constexpr double transformer_rounding = sizeof(real) == 8 ? 4e-15 : 2e-6;

const std::vector<std::vector<Index>> prompts{{1, 2, 3, 4, 0}, {4, 0}, {2, 2, 1}};

// The prompts as a batch, behind or before token 3 as padding.
Indices padded_prompts(bool left) {
  Indices ids({3, 5}, std::vector<Index>(15, 3));
  for (std::size_t b = 0; b < 3; ++b) {
    const std::size_t begin = 5 * b + (left ? 5 - prompts[b].size() : 0);
    std::copy(prompts[b].begin(), prompts[b].end(), ids.mutable_data() + begin);
  }
  return ids;
}

Indices alone(const std::vector<Index>& prompt) {
  return Indices({1, static_cast<Index>(prompt.size())}, prompt);
}

// The logits of prompt b in a padded batch.
Tensor of_prompt(const Tensor& logits, std::size_t b, bool left) {
  const auto length = static_cast<Index>(prompts[b].size());
  const Index begin = left ? logits.shape()[1] - length : 0, row = static_cast<Index>(b);
  return slice(slice(logits, 0, row, row + 1), 1, begin, begin + length);
}

const Indices prompt_lengths({3}, {5, 2, 3});

}  // namespace

TEST_CASE("a padded batch gives what each prompt alone gives", "[models]") {
  Random random(20);
  for (const Positions positions : all_positions)
    for (const bool left : {false, true}) {
      CAPTURE(static_cast<int>(positions), left);
      const TransformerLm net(5, random, small(positions));
      enlarge(net, random);
      // Behind the prompts, padding needs no mask: a causal model does not see it.
      const TokenContext context = left ? left_padded(prompt_lengths, 5) : TokenContext();
      const Tensor seed = random.normal({1, 5, 5});
      const auto projection = [&](const Tensor& logits) {
        return sum(logits * slice(seed, 1, 0, logits.shape()[1]));
      };
      std::vector<Tensor> expected, found;
      for (std::size_t b = 0; b < 3; ++b) {
        const Tape tape;
        const Tensor single = net(alone(prompts[b]));
        const Tensor batched = of_prompt(net(padded_prompts(left), {}, nullptr, context), b, left);
        CHECK(relative_error(batched, single) < transformer_rounding);
        expected = grad(projection(single), parameters(net));
        found = grad(projection(batched), parameters(net));
        for (std::size_t i = 0; i < found.size(); ++i) {
          INFO(parameters(net)[i].name());
          CHECK(relative_error(found[i], expected[i]) < transformer_rounding);
        }
      }
    }
}

TEST_CASE("prompts of different lengths are continued in one batch", "[models]") {
  Random random(21);
  for (const Positions positions : all_positions)
    for (const bool left : {false, true}) {
      CAPTURE(static_cast<int>(positions), left);
      const TransformerLm net(5, random, small(positions));
      enlarge(net, random);
      // After `more` columns, where padding behind a prompt stays as a gap.
      const auto context = [&](Index more) {
        if (left) return left_padded(Indices({3}, {5 + more, 2 + more, 3 + more}), 5 + more);
        TokenContext by_hand{.positions = Indices::uninitialized({3, 5 + more}),
                             .mask = zeros({3, 1, 1, 5 + more})};
        for (Index b = 0; b < 3; ++b)
          for (Index t = 0; t < 5 + more; ++t) {
            const Index length = prompt_lengths.data()[b], at = b * (5 + more) + t;
            by_hand.positions.mutable_data()[at] = t < 5 ? t : t - 5 + length;
            by_hand.mask.mutable_data()[at] = t < length || t >= 5 ? 1 : 0;
          }
        return by_hand;
      };
      std::vector<AttentionCache> together;
      std::vector<std::vector<AttentionCache>> each(3);
      net(padded_prompts(left), {}, &together, context(0));
      for (std::size_t b = 0; b < 3; ++b) net(alone(prompts[b]), {}, &each[b]);
      for (Index step = 0; step < 3; ++step) {
        const Indices next({3, 1}, {step, 1, 4 - step});
        const Tensor logits = net(next, {}, &together, context(step + 1));
        for (Index b = 0; b < 3; ++b)
          CHECK(relative_error(slice(logits, 0, b, b + 1),
                               net(part(next, b, b + 1), {}, &each[static_cast<std::size_t>(b)])) <
                transformer_rounding);
      }
    }
}

TEST_CASE("texts packed into a row do not see each other", "[models]") {
  Random random(22);
  const Indices row({1, 10}, {1, 2, 3, 4, 0, 4, 0, 2, 2, 1});
  const TokenContext context = packed(Indices({1, 10}, {0, 0, 0, 0, 0, 7, 7, 1, 1, 1}));
  for (const Positions positions : all_positions) {
    CAPTURE(static_cast<int>(positions));
    const TransformerLm net(5, random, small(positions));
    enlarge(net, random);
    const Tensor logits = net(row, {}, nullptr, context);
    Index begin = 0;
    for (const std::vector<Index>& prompt : prompts) {
      const Index end = begin + static_cast<Index>(prompt.size());
      CHECK(relative_error(slice(logits, 1, begin, end), net(alone(prompt))) <
            transformer_rounding);
      begin = end;
    }
  }
  CHECK_THROWS_WITH(packed(Indices({3}, {0, 0, 1})), Contains("packed: texts must be (B, T): (3)"));
}

TEST_CASE("a context that does not fit is refused", "[models]") {
  Random random(23);
  const Indices ids({2, 3}, {0, 1, 2, 3, 4, 0});
  for (const Positions positions : all_positions) {
    const TransformerLm net(5, random, small(positions));
    const auto refused = [&](const TokenContext& context, const std::string& why) {
      CHECK_THROWS_WITH(net(ids, {}, nullptr, context), Contains("transformer_lm: " + why));
    };
    refused({.positions = Indices({3}, {0, 1, 2})},
            "needs a position for each of the keys, (2, 3): (3)");
    refused({.positions = Indices({2, 2}, {0, 1, 0, 1})}, "needs a position for each of the keys");
    refused({.positions = Indices({2, 3}, {0, 1, 2, 0, -1, 2})},
            "a position must not be negative: -1");
    refused({.mask = ones({3, 1, 1, 3})}, "shapes do not broadcast: (3, 1, 1, 3) and (2, 2, 3, 3)");
    std::vector<AttentionCache> caches;
    net(ids, {}, &caches);
    CHECK_THROWS_WITH(
        net(ids, {}, &caches, {.mask = ones({1, 1, 3, 3})}),
        Contains("transformer_lm: shapes do not broadcast: (1, 1, 3, 3) and (2, 2, 3, 6)"));
    CHECK_THROWS_WITH(net(Indices({1, 3}, {0, 1, 2}), {}, nullptr, {.mask = ones({2, 1, 1, 3})}),
                      Contains("mask must broadcast to the scores (1, 2, 3, 3): (2, 1, 1, 3)"));
  }
  const TransformerLm net(5, random, small(Positions::learned));
  CHECK_THROWS_WITH(net(ids, {}, nullptr, {.positions = Indices({2, 3}, {0, 1, 2, 0, 1, 12})}),
                    Contains("13 needed, 12 learned"));
  CHECK_THROWS_WITH(left_padded(Indices({2}, {4, 2}), 3), Contains("left_padded: lengths"));
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

TEST_CASE("a language model is embeddings, a causal stack and the embedding transposed",
          "[models]") {
  Random random(14);
  const Indices ids({2, 3}, {0, 1, 2, 4, 3, 3});
  for (const bool tied : {true, false}) {
    TransformerModelOptions options = small(Positions::learned);
    options.tied = tied;
    const TransformerLm net(5, random, options);
    enlarge(net, random);
    const Tensor x =
        embedding(net.embedding.tokens.weight, ids) + slice(net.embedding.table, 0, 0, 3);
    const Tensor output = tied ? transpose(net.embedding.tokens.weight) : net.output->weight;
    const Tensor expected = matmul(net.stack(x), output);
    CHECK(expected.shape() == Shape{2, 3, 5});
    CHECK(relative_error(net(ids), expected) < golden_tolerance);
    CHECK(net.stack.blocks[0].attention.options.causal);
  }
}

TEST_CASE("a classifier averages over the tokens of a sequence", "[models]") {
  Random random(15);
  const TransformerClassifier net(7, 3, random, small(Positions::none));
  const Indices ids({2, 3}, {1, 2, 3, 4, 5, 0}), lengths({2}, {3, 2});
  const Tensor logits = net(ids, lengths);
  CHECK(logits.shape() == Shape{2, 3});
  const Tensor x = embedding(net.embedding.tokens.weight, Indices({1, 2}, {4, 5}));
  const Tensor expected = linear(mean(net.stack(x), 1), net.output.weight, net.output.bias);
  CHECK(relative_error(slice(logits, 0, 1, 2), expected) < golden_tolerance);
}

TEST_CASE("a language model starts as GPT-2 does", "[models]") {
  Random random(16);
  const TransformerLm net(50, random, {.stack = {.layers = 8, .channels = 64}});
  const auto deviation = [](const Tensor& x) { return stddev(x).item(); };
  CHECK(deviation(net.embedding.tokens.weight) == Approx(0.02).epsilon(0.05));
  CHECK(deviation(net.embedding.table) == Approx(0.02).epsilon(0.05));
  const TransformerBlock& block = net.stack.blocks[7];
  CHECK(deviation(block.attention.projection.weight) == Approx(0.02).epsilon(0.05));
  CHECK(deviation(block.feed_forward.up.weight) == Approx(0.02).epsilon(0.05));
  for (const Linear& last : {block.attention.output, block.feed_forward.down}) {
    CHECK(deviation(last.weight) == Approx(0.02 / 4).epsilon(0.05));
    CHECK(max(abs(last.bias)).item() == 0);
  }
}

TEST_CASE("derivatives of models of Transformers", "[models]") {
  Random random(17);
  const Indices ids = random_ids({2, 3}, 5, random), lengths({2}, {3, 2});
  const TransformerModelOptions options{.stack = {.layers = 1, .heads = 2, .channels = 4},
                                        .length = 3};
  SECTION("language model") {
    const TransformerLm net(5, random, options);
    enlarge(net, random);
    check_parameters(net, [&] { return net(ids); });
  }
  SECTION("classifier") {
    const TransformerClassifier net(5, 2, random, options);
    enlarge(net, random);
    check_parameters(net, [&] { return net(ids, lengths); });
  }
  SECTION("translator") {
    const Translator net(5, random, options);
    enlarge(net, random);
    check_parameters(net, [&] { return net(ids, lengths, ids); });
    const Function decode = [&](const std::vector<Tensor>& in) {
      return net.decode(in[0], lengths, ids);
    };
    CHECK(check_gradient(decode, {random.normal({2, 3, 4})}));
  }
}

namespace {

// Three sources of different lengths for a translator of seven tokens: 0 pads, 2 begins, 3 ends.
const Indices sources({3, 4}, {1, 2, 3, 4, 5, 6, 0, 0, 4, 4, 1, 0});
const Indices source_lengths({3}, {4, 2, 3});

Translator drawn_translator(std::uint64_t seed = 18) {
  Random random(seed);
  const Translator net(7, random, small(Positions::sinusoidal));
  enlarge(net, random);
  return net;
}

BeamOptions beam(Index width) { return {.begin = 2, .end = 3, .width = width}; }

// Searches without caches: each step decodes the whole prefixes.
std::vector<std::vector<Hypothesis>> translate_anew(const Translator& net,
                                                    const std::vector<Index>& longest,
                                                    const BeamOptions& options) {
  using Row = std::pair<Index, std::vector<Index>>;  // of a source, with the tokens so far
  std::vector<Row> prefixes;
  return beam_search(longest, options, [&](const Indices& rows, const Indices& tokens) {
    std::vector<Row> selected;
    std::vector<Tensor> log_p;
    for (Index i = 0; i < rows.size(); ++i) {
      const Index row = rows.data()[i];
      selected.push_back(prefixes.empty() ? Row{row, {}} : prefixes[static_cast<std::size_t>(row)]);
      auto& [source, prefix] = selected.back();
      prefix.push_back(tokens.data()[i]);
      const auto length = static_cast<Index>(prefix.size());
      const Tensor logits =
          net(part(sources, source, source + 1), part(source_lengths, source, source + 1),
              Indices({1, length}, prefix));
      log_p.push_back(log_softmax(select(logits, length - 1, 1)));
    }
    prefixes = std::move(selected);
    return concat(log_p);
  });
}

}  // namespace

TEST_CASE("a beam with caches finds what it finds without", "[models]") {
  const std::vector<Index> longest{6, 9, 3};
  // With the second net, one source loses prefixes in a step in which another gains as many.
  const std::pair<std::uint64_t, Index> searches[] = {{18, 1}, {18, 2}, {18, 5}, {8, 3}};
  for (const auto& [seed, width] : searches) {
    CAPTURE(seed, width);
    const Translator net = drawn_translator(seed);
    const auto cached = net.translate(sources, source_lengths, longest, beam(width));
    const auto anew = translate_anew(net, longest, beam(width));
    for (std::size_t i = 0; i < longest.size(); ++i) {
      REQUIRE(cached[i].size() == anew[i].size());
      for (std::size_t j = 0; j < cached[i].size(); ++j) {
        CHECK(cached[i][j].tokens == anew[i][j].tokens);
        CHECK(cached[i][j].score == Approx(anew[i][j].score).epsilon(transformer_precision));
      }
    }
  }
}

TEST_CASE("a permuted batch gives permuted translations", "[models]") {
  const Translator net = drawn_translator();
  const auto found = net.translate(sources, source_lengths, {6, 9, 3}, beam(3));
  const auto permuted = net.translate(Indices({3, 4}, {4, 4, 1, 0, 1, 2, 3, 4, 5, 6, 0, 0}),
                                      Indices({3}, {3, 4, 2}), {3, 6, 9}, beam(3));
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(permuted[(i + 1) % 3].front().tokens == found[i].front().tokens);
}

TEST_CASE("attention looks at the source, not at its padding", "[models]") {
  const Translator net = drawn_translator();
  const Indices target({3, 2}, {2, 1, 2, 5, 2, 6});
  const std::vector<Tensor> layers = net.attention(sources, source_lengths, target);
  REQUIRE(layers.size() == 2);
  for (const Tensor& weights : layers) {
    CHECK(weights.shape() == Shape{3, 2, 2, 4});
    CHECK(relative_error(sum(weights, -1), ones({3, 2, 2})) < 1e-5);
    CHECK(max(abs(slice(slice(weights, 0, 1, 2), -1, 2, 4))).item() == 0);
  }
}
