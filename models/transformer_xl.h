#pragma once

#include "tapegrad/nn/layers/embedding.h"
#include "tapegrad/nn/layers/transformer.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct TransformerXlOptions {
  TransformerOptions stack = {};
  Index memory = 64;  ///< how many positions of earlier segments a segment can attend to
};

/// A language model whose segments attend to a memory of those before, with relative positions (Dai
/// et al. 2019). The memory is a constant: gradients stay within a segment.
///   ids: (B, T)   memory: of the segment before, or empty   logits: (B, T, vocabulary)
/// Throws ArgumentError for a stack with `causal`, which it always is, and for one with `rotary` or
/// `alibi`, other positions than its own.
/// Example: `const auto [predicted, memory] = TransformerXl(10, random, {.memory = 8})(ids)`
struct TransformerXl {
  struct Block {
    RelativeAttention attention;
    Residual attention_residual;
    FeedForward feed_forward;
    Residual feed_forward_residual;

    Block(Random& random, const TransformerOptions& options);
    /// memory: (B, M, C), or undefined
    Tensor operator()(const Tensor& x, const Tensor& memory, Mode mode) const;
    void visit(Fields& field) const;
  };
  struct Result {
    Tensor logits;
    std::vector<Tensor> memory;  ///< the inputs of each block, (B, at most `memory`, C)
  };

  Index memory_length;
  Embedding tokens;
  Dropout dropout;
  std::vector<Block> blocks;
  std::optional<Norm> last_norm;
  bool recomputed;  ///< TransformerOptions::recompute

  TransformerXl(Index vocabulary, Random& random, const TransformerXlOptions& options = {});
  Result operator()(const Indices& ids, const std::vector<Tensor>& memory = {},
                    Mode mode = {}) const;
  void visit(Fields& field) const {
    field("tokens", tokens);
    field("blocks", blocks);
    field("last_norm", last_norm);
  }
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
