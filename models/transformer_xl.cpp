#include "tapegrad/models/transformer_xl.h"

#include <algorithm>
#include <cmath>

#include "tapegrad/core/error.h"
#include "tapegrad/core/options.h"
#include "tapegrad/models/transformer.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/recompute.h"

namespace tapegrad::TAPEGRAD_SCALAR {

TransformerXl::Block::Block(Random& random, const TransformerOptions& o)
    : attention(o.channels, random, o.attention()),
      attention_residual(o),
      feed_forward(random, o),
      feed_forward_residual(o) {
  expect_transformer_norm(o.norm);
}

Tensor TransformerXl::Block::operator()(const Tensor& x, const Tensor& memory, Mode mode) const {
  const auto attend = [&](const Tensor& in) {
    const bool pre = attention_residual.placement == NormPlacement::pre && memory.defined();
    return attention(in, with_memory(pre ? attention_residual.norm(memory, mode) : memory, in),
                     mode);
  };
  const Tensor y = attention_residual(x, mode, attend);
  return feed_forward_residual(y, mode, [&](const Tensor& in) { return feed_forward(in, mode); });
}

void TransformerXl::Block::visit(Fields& field) const {
  field("attention", attention);
  field("attention_residual", attention_residual);
  field("feed_forward", feed_forward);
  field("feed_forward_residual", feed_forward_residual);
}

TransformerXl::TransformerXl(Index vocabulary, Random& random, const TransformerXlOptions& o)
    : memory_length(o.memory),
      tokens(vocabulary, o.stack.channels, random),
      dropout{o.stack.dropout},
      recomputed(o.stack.recompute) {
  expect_positive("transformer_xl", "layers", o.stack.layers);
  expect_not_negative("transformer_xl", "memory", o.memory);
  constexpr double deviation = 0.02;
  const double branches = std::sqrt(2 * static_cast<double>(o.stack.layers));
  tokens.weight.set(random.normal(tokens.weight.shape(), 0, deviation));
  for (Index i = 0; i < o.stack.layers; ++i) {
    const Block& block = blocks.emplace_back(random, o.stack);
    for (const Linear& linear : {block.attention.query, block.attention.key_value,
                                 block.attention.position, block.feed_forward.up})
      set_normal(linear, deviation, random);
    for (const Linear& linear : {block.attention.output, block.feed_forward.down})
      set_normal(linear, deviation / branches, random);
  }
  if (o.stack.placement == NormPlacement::pre)
    last_norm.emplace(o.stack.norm_here(), o.stack.channels);
}

TransformerXl::Result TransformerXl::operator()(const Indices& ids,
                                                const std::vector<Tensor>& memory,
                                                Mode mode) const {
  expect(memory.empty() || memory.size() == blocks.size(),
         "transformer_xl: needs one memory for each of {} blocks: {} given", blocks.size(),
         memory.size());
  Result result;
  Tensor x = dropout(tokens(ids), mode);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Tensor before = memory.empty() ? Tensor() : memory[i];
    if (memory_length > 0) {
      const Tensor all = with_memory(before, detach(x));
      const Index length = all.shape()[1];
      result.memory.push_back(slice(all, 1, std::max<Index>(0, length - memory_length), length));
    }
    const Block& block = blocks[i];
    x = recomputed
            ? recompute([=](const std::vector<Tensor>& in) { return block(in[0], before, mode); },
                        {x})
            : block(x, before, mode);
  }
  if (last_norm) x = (*last_norm)(x, mode);
  result.logits = matmul(x, tokens.weight, {.b = true});
  return result;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
