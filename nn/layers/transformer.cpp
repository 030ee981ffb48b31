#include "tapegrad/nn/layers/transformer.h"

#include "tapegrad/core/error.h"
#include "tapegrad/core/options.h"
#include "tapegrad/nn/pytorch.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/recompute.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

AttentionLayerOptions cross_options(const TransformerOptions& o) {
  AttentionLayerOptions cross = o.attention();
  cross.causal = cross.rotary = cross.alibi = false;
  return cross;
}

LinearOptions linear_options(const TransformerOptions& o) {
  return {.bias = o.bias, .weight_norm = o.norm.normalized_weights};
}

Index inner(const TransformerOptions& o) {
  return expect_not_negative("transformer", "feed_forward", o.feed_forward) > 0 ? o.feed_forward
                                                                                : 4 * o.channels;
}

}  // namespace

AttentionLayerOptions TransformerOptions::attention() const {
  return {.heads = heads,
          .causal = causal,
          .bias = bias,
          .dropout = attention_dropout.value_or(dropout),
          .rotary = rotary,
          .alibi = alibi,
          .weight_norm = norm.normalized_weights};
}

NormSpec TransformerOptions::norm_here() const {
  NormSpec spec = norm;
  spec.bias = spec.bias && bias;
  return spec;
}

void expect_transformer_norm(const NormSpec& norm) {
  expect<ArgumentError>(!norm.method->mixes_samples && !norm.method->needs_positions,
                        "transformer: {} normalization does not fit: its statistics mix positions "
                        "and sequences that must not see each other",
                        norm.method->name);
}

FeedForward::FeedForward(Random& random, const TransformerOptions& o)
    : activation(o.activation),
      up(o.channels, inner(o) * (o.activation == Activation::swiglu ? 2 : 1), random,
         linear_options(o)),
      down(inner(o), o.channels, random, linear_options(o)),
      dropout{expect_share("transformer", "activation_dropout",
                           o.activation_dropout.value_or(o.dropout))} {}

Tensor FeedForward::operator()(const Tensor& x, Mode mode) const {
  Tensor y = up(x);
  if (activation == Activation::relu) {
    y = relu(y);
  } else if (activation == Activation::gelu) {
    y = gelu(y);
  } else {
    const Index half = y.shape()[-1] / 2;
    const std::vector<Tensor> halves = split(y, {half, half}, -1);
    y = silu(halves[0]) * halves[1];
  }
  return down(dropout(y, mode));
}

Residual::Residual(const TransformerOptions& o)
    : placement(o.placement),
      norm(o.norm_here(), o.channels),
      dropout{expect_share("transformer", "dropout", o.dropout)} {}

TransformerBlock::TransformerBlock(Random& random, const TransformerOptions& o, bool with_cross)
    : attention(o.channels, random, o.attention()),
      attention_residual(o),
      feed_forward(random, o),
      feed_forward_residual(o) {
  expect_transformer_norm(o.norm);
  if (!with_cross) return;
  cross.emplace(o.channels, random, cross_options(o));
  cross_residual.emplace(o);
}

Tensor TransformerBlock::operator()(const Tensor& x, const BlockContext& context, Mode mode,
                                    AttentionCache* cache) const {
  Tensor y = attention_residual(x, mode, [&](const Tensor& in) {
    return attention(in, context.mask, mode, cache, context.positions);
  });
  if (cross)
    y = (*cross_residual)(y, mode, [&](const Tensor& in) {
      if (context.weights != nullptr)
        context.weights->push_back(cross->weights(in, context.memory, context.memory_mask));
      return (*cross)(in, context.memory, context.memory_mask, mode, cache);
    });
  return feed_forward_residual(y, mode, [&](const Tensor& in) { return feed_forward(in, mode); });
}

void TransformerBlock::visit(Fields& field) const {
  field("attention", attention);
  field("attention_residual", attention_residual);
  field("cross", cross);
  field("cross_residual", cross_residual);
  field("feed_forward", feed_forward);
  field("feed_forward_residual", feed_forward_residual);
}

void TransformerBlock::pytorch(PyTorchState& state) const {
  state("self_attn", attention);
  state("norm1", attention_residual.norm);
  if (cross) {
    state("multihead_attn", *cross);
    state("norm2", cross_residual->norm);
  }
  state("linear1", feed_forward.up);
  state("linear2", feed_forward.down);
  state(cross ? "norm3" : "norm2", feed_forward_residual.norm);
}

TransformerStack::TransformerStack(Random& random, const TransformerOptions& o, bool with_cross)
    : recomputed(o.recompute) {
  expect_positive("transformer", "layers", o.layers);
  for (Index i = 0; i < o.layers; ++i) blocks.emplace_back(random, o, with_cross);
  if (o.placement == NormPlacement::pre) last_norm.emplace(o.norm_here(), o.channels);
}

Tensor TransformerStack::operator()(const Tensor& x, const BlockContext& context, Mode mode,
                                    std::vector<AttentionCache>* caches) const {
  expect<TapeError>(
      caches == nullptr || !recomputed || !recording(),
      "transformer: recomputed blocks cannot use caches while a tape records; leave the "
      "caches out, or generate under NoGrad");
  if (caches != nullptr) {
    expect(caches->empty() || caches->size() == blocks.size(),
           "transformer: needs one cache for each of {} blocks: {} given", blocks.size(),
           caches->size());
    caches->resize(blocks.size());
  }
  Tensor y = x;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const TransformerBlock& block = blocks[i];
    if (recomputed && caches == nullptr)
      y = recompute([=](const std::vector<Tensor>& in) { return block(in[0], context, mode); },
                    {y});
    else
      y = block(y, context, mode, caches == nullptr ? nullptr : &(*caches)[i]);
  }
  return last_norm ? (*last_norm)(y, mode) : y;
}

void TransformerStack::pytorch(PyTorchState& state) const {
  state("layers", blocks);
  state("norm", last_norm);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
