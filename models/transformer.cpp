#include "tapegrad/models/transformer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tapegrad/core/error.h"
#include "tapegrad/core/options.h"
#include "tapegrad/io/examples.h"
#include "tapegrad/nn/functions/recurrent.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/softmax.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

TransformerOptions stack_options(const char* model, const TransformerModelOptions& o, bool causal) {
  expect_default(model, "stack.causal", o.stack.causal);
  expect_default(model, "stack.rotary", o.stack.rotary);
  expect_default(model, "stack.alibi", o.stack.alibi);
  TransformerOptions stack = o.stack;
  stack.causal = causal;
  stack.rotary = o.positions == Positions::rotary;
  stack.alibi = o.positions == Positions::alibi;
  return stack;
}

// The shape of token ids.
const Shape& expect_rows(const Indices& ids) {
  expect_defined("embedding", ids);
  expect(ids.shape().rank() == 2, "embedding: token ids must be (B, T): {}", ids.shape());
  return ids.shape();
}

void expect_learned(Index needed, const Tensor& table) {
  expect(needed <= table.shape()[0], "embedding: too few learned positions: {} needed, {} learned",
         needed, table.shape()[0]);
}

}  // namespace

TokenEmbedding::TokenEmbedding(Index vocabulary, Index channels, Index length, Positions p,
                               Random& random)
    : positions(p), tokens(vocabulary, channels, random) {
  // Sinusoids have a fixed size, which sqrt(channels) times this deviation matches.
  const double deviation =
      positions == Positions::sinusoidal ? 1 / std::sqrt(static_cast<double>(channels)) : 0.02;
  tokens.weight.set(random.normal({vocabulary, channels}, 0, deviation));
  expect_positive("embedding", "length", length);
  if (positions == Positions::sinusoidal) expect_sinusoids("embedding", channels);
  if (positions == Positions::learned)
    table = Parameter(random.normal({length, channels}, 0, 0.02));
}

Tensor TokenEmbedding::operator()(const Indices& ids, Index first) const {
  const Index count = expect_rows(ids)[1];
  const Tensor x = tokens(ids);
  if (positions == Positions::learned) {
    expect_learned(first + count, table);
    return x + slice(table, 0, first, first + count);
  }
  if (positions != Positions::sinusoidal) return x;
  const Index channels = x.shape()[-1];
  return x * std::sqrt(static_cast<double>(channels)) + sinusoids(count, channels, first);
}

Tensor TokenEmbedding::operator()(const Indices& ids, const Indices& at) const {
  const Shape& rows = expect_rows(ids);
  expect_defined("embedding", at);
  expect_positions("embedding", at, rows[0], rows[1]);
  const Tensor x = tokens(ids);
  const Index needed = at.size() > 0 ? 1 + std::ranges::max(at.values()) : 0;
  if (positions == Positions::learned) {
    expect_learned(needed, table);
    return x + tapegrad::embedding(table, at);
  }
  if (positions != Positions::sinusoidal) return x;
  const Index channels = x.shape()[-1];
  return x * std::sqrt(static_cast<double>(channels)) +
         tapegrad::embedding(sinusoids(needed, channels), at);
}

void set_normal(const Linear& linear, double deviation, Random& random) {
  Linear l = linear;  // shares its parameters
  l.weight.set(random.normal(l.weight.shape(), 0, deviation));
  if (l.gain.defined()) l.gain.set(norm(l.weight.value(), 0));
  if (l.bias.defined()) l.bias.set(zeros(l.bias.shape()));
}

void initialize_like_gpt2(const TransformerStack& stack, Random& random) {
  constexpr double deviation = 0.02;
  const double branches = 2 * static_cast<double>(stack.blocks.size());
  for (const TransformerBlock& block : stack.blocks) {
    set_normal(block.attention.projection, deviation, random);
    set_normal(block.attention.output, deviation / std::sqrt(branches), random);
    set_normal(block.feed_forward.up, deviation, random);
    set_normal(block.feed_forward.down, deviation / std::sqrt(branches), random);
  }
}

TransformerLm::TransformerLm(Index vocabulary, Random& random, const TransformerModelOptions& o)
    : embedding(vocabulary, o.stack.channels, o.length, o.positions, random),
      dropout{o.stack.dropout},
      stack(random, stack_options("TransformerLm", o, true)) {
  initialize_like_gpt2(stack, random);
  if (o.tied) return;
  output.emplace(o.stack.channels, vocabulary, random, LinearOptions{.bias = false});
  set_normal(*output, 0.02, random);
}

Tensor TransformerLm::operator()(const Indices& ids, Mode mode, std::vector<AttentionCache>* caches,
                                 const TokenContext& context) const {
  const Index seen = caches == nullptr || caches->empty() ? 0 : caches->front().length();
  const Shape& rows = expect_rows(ids);
  const Shape scores{rows[0], stack.blocks[0].attention.options.heads, rows[1], seen + rows[1]};
  expect(!context.mask.defined() ||
             broadcast("transformer_lm", context.mask.shape(), scores) == scores,
         "transformer_lm: the mask must broadcast to the scores {}: {}", scores,
         context.mask.shape());
  Tensor x;
  if (context.positions.defined()) {
    expect_positions("transformer_lm", context.positions, rows[0], seen + rows[1]);
    x = embedding(ids, last_columns(context.positions, rows[1]));
  } else {
    x = embedding(ids, seen);
  }
  const Tensor y =
      stack(dropout(x, mode), {.mask = context.mask, .positions = context.positions}, mode, caches);
  return output ? (*output)(y) : matmul(y, embedding.tokens.weight, {.b = true});
}

Tensor padding_mask(const Indices& lengths, Index steps) {
  expect_lengths("padding_mask: lengths", lengths, steps, lengths.size());
  return reshape(transpose(running(lengths, 0, steps), 0, 1), {lengths.size(), 1, 1, steps});
}

TokenContext left_padded(const Indices& lengths, Index steps) {
  expect_lengths("left_padded: lengths", lengths, steps, lengths.size());
  TokenContext context{.positions = Indices::uninitialized({lengths.size(), steps}),
                       .mask = Tensor::uninitialized({lengths.size(), 1, 1, steps})};
  Index* position = context.positions.mutable_data();
  real* seen = context.mask.mutable_data();
  for (const Index length : lengths.values())
    for (Index at = length - steps; at < length; ++at) {  // below 0 in the padding
      *position++ = std::max<Index>(at, 0);
      *seen++ = static_cast<real>(at >= 0);
    }
  return context;
}

TokenContext packed(const Indices& texts) {
  expect_defined("packed", texts);
  expect(texts.shape().rank() == 2, "packed: texts must be (B, T): {}", texts.shape());
  const Index rows = texts.shape()[0], steps = texts.shape()[1];
  TokenContext context{.positions = Indices::uninitialized(texts.shape()),
                       .mask = zeros({rows, 1, steps, steps})};
  Index* position = context.positions.mutable_data();
  real* seen = context.mask.mutable_data();
  for (Index row = 0; row < rows; ++row) {
    const Index* text = texts.data() + row * steps;
    Index begin = 0;  // of the text at hand
    for (Index t = 0; t < steps; ++t, seen += steps) {
      if (text[t] != text[begin]) begin = t;
      *position++ = t - begin;
      std::fill(seen + begin, seen + t + 1, real{1});
    }
  }
  return context;
}

TransformerClassifier::TransformerClassifier(Index vocabulary, Index classes, Random& random,
                                             const TransformerModelOptions& o)
    : embedding(vocabulary, o.stack.channels, o.length, o.positions, random),
      dropout{o.stack.dropout},
      stack(random, stack_options("TransformerClassifier", o, false)),
      output(o.stack.channels, classes, random) {
  expect_default("TransformerClassifier", "tied", o.tied, true);
}

Tensor TransformerClassifier::operator()(const Indices& ids, const Indices& lengths,
                                         Mode mode) const {
  expect_defined("transformer_classifier", ids, lengths);
  const Index batch = ids.shape()[0], steps = ids.shape()[1];
  const Tensor mask = padding_mask(lengths, steps);
  const Tensor y = stack(dropout(embedding(ids), mode), {.mask = mask}, mode);
  const Tensor counted = reshape(mask, {batch, steps, 1});
  const Tensor pooled = sum(where(counted, y, 0.0), 1) / maximum(sum(counted, 1), 1.0);
  return output(dropout(pooled, mode));
}

Translator::Translator(Index vocabulary, Random& random, const TransformerModelOptions& o)
    : embedding(vocabulary, o.stack.channels, o.length, o.positions, random),
      dropout{o.stack.dropout},
      encoder(random, stack_options("Translator", o, false)),
      decoder(random, stack_options("Translator", o, true), true) {
  expect_default("Translator", "tied", o.tied, true);
}

Tensor Translator::encode(const Indices& source, const Indices& lengths, Mode mode) const {
  expect_defined("translator", source, lengths);
  const Tensor mask = padding_mask(lengths, source.shape()[1]);
  return encoder(dropout(embedding(source), mode), {.mask = mask}, mode);
}

Tensor Translator::decode(const Tensor& memory, const Indices& lengths, const Indices& target,
                          Mode mode, std::vector<AttentionCache>* caches) const {
  expect_defined("translator", memory, lengths, target);
  const Index seen = caches == nullptr || caches->empty() ? 0 : caches->front().length();
  const BlockContext context{.memory = memory,
                             .memory_mask = padding_mask(lengths, memory.shape()[1])};
  const Tensor y = decoder(dropout(embedding(target, seen), mode), context, mode, caches);
  return matmul(y, embedding.tokens.weight, {.b = true});
}

std::vector<std::vector<Hypothesis>> Translator::translate(const Indices& source,
                                                           const Indices& lengths,
                                                           const std::vector<Index>& longest,
                                                           const BeamOptions& options) const {
  const NoGrad no_grad;
  const Tensor memory = encode(source, lengths);
  Indices sources = Indices::uninitialized(lengths.shape());  // of the rows of the last step
  std::iota(sources.mutable_data(), sources.mutable_data() + sources.size(), Index{0});
  std::vector<AttentionCache> caches;
  return beam_search(longest, options, [&](const Indices& rows, const Indices& tokens) {
    const Indices before = std::exchange(sources, take_rows(sources, rows.values()));
    const bool keep_memory = std::ranges::equal(before.values(), sources.values());
    for (AttentionCache& cache : caches) cache.select(rows, keep_memory);
    const Tensor logits = decode(memory, take_rows(lengths, sources.values()), tokens, {}, &caches);
    return log_softmax(reshape(logits, {rows.size(), logits.shape()[-1]}));
  });
}

std::vector<Tensor> Translator::attention(const Indices& source, const Indices& lengths,
                                          const Indices& target) const {
  const Tensor memory = encode(source, lengths);
  std::vector<Tensor> weights;
  decoder(embedding(target), {.memory = memory,
                              .memory_mask = padding_mask(lengths, memory.shape()[1]),
                              .weights = &weights});
  return weights;
}

Tensor Translator::operator()(const Indices& source, const Indices& lengths, const Indices& target,
                              Mode mode) const {
  return decode(encode(source, lengths, mode), lengths, target, mode);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
