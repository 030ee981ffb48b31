#pragma once

#include <optional>
#include <string_view>

#include "tapegrad/nn/layers/attention.h"
#include "tapegrad/nn/layers/dropout.h"
#include "tapegrad/nn/layers/norm.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// What stands between the two linear layers of a feed-forward sub-layer. swiglu: silu(a) b of the
/// halves a, b of twice as many channels (Shazeer 2020, eq. 6).
enum class Activation { relu, gelu, swiglu };

/// pre: x + Sub(N(x)), with one more N after the stack; post: N(x + Sub(x)) (Xiong et al. 2020).
enum class NormPlacement { pre, post };

struct TransformerOptions {
  Index layers = 4;
  Index heads = 4;
  Index channels = 128;
  Index feed_forward = 0;  ///< its channels; 0: four times `channels`
  Activation activation = Activation::gelu;
  NormSpec norm = "layer";
  NormPlacement placement = NormPlacement::pre;
  bool bias = true;    ///< of linear layers and norms
  double dropout = 0;  ///< of sub-layers, attention weights and activations
  bool causal = false;
  bool rotary = false;
  bool alibi = false;
  /// The tape keeps the input of each block only; the backward sweep computes the block again
  /// (Chen et al. 2016). Values and gradients are the same bits.
  bool recompute = false;

  /// The norm as it is used: without a bias if there are none.
  NormSpec norm_here() const;
};
/// Throws ArgumentError for a norm that does not fit a Transformer: batch and instance
/// normalization would mix positions that must not see each other.
void expect_transformer_norm(const NormSpec& norm);

/// activation(x W_1 + b_1) W_2 + b_2.   x: (..., channels)   returns: same shape
struct FeedForward {
  Activation activation;
  Linear up, down;
  Dropout dropout;

  FeedForward(Random& random, const TransformerOptions& options);
  Tensor operator()(const Tensor& x, Mode mode = {}) const;
  void visit(Fields& field) const {
    field("up", up);
    field("down", down);
  }
};

/// A sub-layer with its norm, dropout and residual connection.
struct Residual {
  NormPlacement placement;
  Norm norm;
  Dropout dropout;

  explicit Residual(const TransformerOptions& options);
  /// sub: from a tensor to one of its shape
  template <class Sub>
  Tensor operator()(const Tensor& x, Mode mode, const Sub& sub) const {
    if (placement == NormPlacement::pre) return x + dropout(sub(norm(x, mode)), mode);
    return norm(x + dropout(sub(x), mode), mode);
  }
  void visit(Fields& field) const { field("norm", norm); }
};

/// What a block attends to beside its own sequence, and what it remembers of it.
struct BlockContext {
  Tensor mask = {};         ///< of its own sequence: broadcasts to (B, heads, T, T)
  Tensor memory = {};       ///< the other sequence, (B, Tk, C), of a decoder's block
  Tensor memory_mask = {};  ///< broadcasts to (B, heads, T, Tk)
};

/// Self-attention, attention to another sequence (of a decoder), feed-forward.
struct TransformerBlock {
  SelfAttention attention;
  Residual attention_residual;
  std::optional<CrossAttention> cross;
  std::optional<Residual> cross_residual;
  FeedForward feed_forward;
  Residual feed_forward_residual;

  TransformerBlock(Random& random, const TransformerOptions& options, bool with_cross = false);
  Tensor operator()(const Tensor& x, const BlockContext& context = {}, Mode mode = {},
                    AttentionCache* cache = nullptr) const;
  void visit(Fields& field) const;
  /// nn.TransformerEncoderLayer, or nn.TransformerDecoderLayer if it has `cross`.
  void pytorch(PyTorchState& state) const;
};

/// Blocks one after another, at least one: an encoder, or a decoder if `with_cross`.
///   x: (B, T, channels)   caches: empty, to be filled, or one a block   returns: x's shape
/// Throws ShapeError for another number of caches, and TapeError where a tape records, blocks are
/// recomputed and there are caches, which a second run would fill twice.
struct TransformerStack {
  std::vector<TransformerBlock> blocks;
  std::optional<Norm> last_norm;
  bool recomputed;  ///< TransformerOptions::recompute

  TransformerStack(Random& random, const TransformerOptions& options, bool with_cross = false);
  Tensor operator()(const Tensor& x, const BlockContext& context = {}, Mode mode = {},
                    std::vector<AttentionCache>* caches = nullptr) const;
  void visit(Fields& field) const {
    field("blocks", blocks);
    field("last_norm", last_norm);
  }
  /// nn.TransformerEncoder or nn.TransformerDecoder.
  void pytorch(PyTorchState& state) const;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
