#pragma once

#include <optional>
#include <string_view>

#include "tapegrad/nn/layers/attention.h"
#include "tapegrad/nn/layers/dropout.h"
#include "tapegrad/nn/layers/norm.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The activation between the two linear layers of a feed-forward sub-layer. swiglu: silu(a) b,
/// where a and b are the halves of twice as many channels (Shazeer 2020, eq. 6).
/// Example: `FeedForward(random, {.channels = 8, .activation = Activation::swiglu})(sequence)`
enum class Activation { relu, gelu, swiglu };

/// pre: x + Sub(N(x)), with one more N after the stack; post: N(x + Sub(x)) (Xiong et al. 2020).
/// Example: `const TransformerOptions options{.channels = 8, .placement = NormPlacement::post}`
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
  double dropout = 0;  ///< of sub-layers, and of what the next two leave open
  std::optional<double> attention_dropout = {};   ///< of attention weights
  std::optional<double> activation_dropout = {};  ///< within feed-forward sub-layers
  bool causal = false;
  bool rotary = false;
  bool alibi = false;
  /// Keep only the input of each block on the tape; the backward sweep computes the block again
  /// (Chen et al. 2016). Values and gradients are bitwise the same.
  bool recompute = false;

  /// The norm to use: without a bias if `bias` is false.
  NormSpec norm_here() const;
  /// The options of the blocks' attention to their own sequence.
  AttentionLayerOptions attention() const;
};
/// Throws ArgumentError for a norm unfit for a Transformer: one that mixes samples or needs images
/// would mix positions that must not see each other.
/// Example: `expect_transformer_norm("rms")`
void expect_transformer_norm(const NormSpec& norm);

/// activation(x W_1 + b_1) W_2 + b_2.   x: (..., channels)   returns: same shape
/// Example: `FeedForward(random, {.channels = 8})(sequence)`
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
/// Example: `Residual({.channels = 8})(sequence, {}, [](const Tensor& in) { return 2 * in; })`
struct Residual {
  NormPlacement placement;
  Norm norm;
  Dropout dropout;

  explicit Residual(const TransformerOptions& options);
  /// sub: maps a tensor to one of the same shape
  template <class Sub>
  Tensor operator()(const Tensor& x, Mode mode, const Sub& sub) const {
    if (placement == NormPlacement::pre) return x + dropout(sub(norm(x, mode)), mode);
    return norm(x + dropout(sub(x), mode), mode);
  }
  void visit(Fields& field) const { field("norm", norm); }
};

/// The masks and positions of a block, and the other sequence that it attends to.
/// Example: `const BlockContext context{.mask = tril(ones({3, 3}))}`
struct BlockContext {
  Tensor mask = {};         ///< of its own sequence, as in SelfAttention
  Indices positions = {};   ///< of its own sequence, as in SelfAttention
  Tensor memory = {};       ///< for a decoder block, the other sequence (B, Tk, C)
  Tensor memory_mask = {};  ///< broadcasts to (B, heads, T, Tk)
  /// Receives, block by block, the weights of the attention to the memory: (B, heads, T, Tk).
  std::vector<Tensor>* weights = nullptr;
};

/// Self-attention, cross-attention (in a decoder), feed-forward.
/// Example: `TransformerBlock(random, {.heads = 2, .channels = 8})(sequence)`
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

/// A stack of at least one block: an encoder, or a decoder if `with_cross`.
///   x: (B, T, channels)   caches: empty, to be filled, or one per block   returns: x's shape
/// Throws ShapeError for another number of caches. Throws TapeError for caches if a tape records
/// recomputed blocks, since the second run would fill them twice.
/// Example: `TransformerStack(random, {.layers = 2, .heads = 2, .channels = 8})(sequence)`
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
