#pragma once

#include "tapegrad/nn/layers/embedding.h"
#include "tapegrad/nn/layers/transformer.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// How a model knows where a token stands.
enum class Positions { none, learned, sinusoidal, rotary, alibi };

/// Token embeddings with positions.
///   ids: (B, T), at positions from `first` on   returns (B, T, channels)
/// Throws ArgumentError for a length below 1, for sinusoidal positions in channels that `sinusoids`
/// refuses, and, when it is called, beyond `length` learned positions.
struct TokenEmbedding {
  Positions positions;
  Embedding tokens;
  Parameter table;  ///< (length, channels), of learned positions

  TokenEmbedding(Index vocabulary, Index channels, Index length, Positions positions,
                 Random& random);
  Tensor operator()(const Indices& ids, Index first = 0) const;
  void visit(Fields& field) const {
    field("tokens", tokens);
    field("table", table);
  }
};

/// The models throw ArgumentError for `causal`, `rotary` or `alibi` in `stack`: the model itself
/// and `positions` decide these.
struct TransformerModelOptions {
  TransformerOptions stack = {};
  Positions positions = Positions::learned;
  Index length = 64;  ///< the longest sequence, for learned positions; at least 1
  bool tied = true;   ///< the output layer is the embedding, transposed (Press and Wolf 2017)
};

/// A decoder-only language model. Starts as GPT-2 does: N(0, 0.02) everywhere, the projections
/// that end a residual branch divided by sqrt(2 layers), biases 0 (Radford et al. 2019,
/// section 2.3).
///   ids: (B, T)   returns logits (B, T, vocabulary)
struct TransformerLm {
  TokenEmbedding embedding;
  Dropout dropout;
  TransformerStack stack;
  std::optional<Linear> output;  ///< if it is not tied

  TransformerLm(Index vocabulary, Random& random, const TransformerModelOptions& options = {});
  /// With caches, ids are the next tokens after those seen.
  Tensor operator()(const Indices& ids, Mode mode = {},
                    std::vector<AttentionCache>* caches = nullptr) const;
  void visit(Fields& field) const {
    field("embedding", embedding);
    field("stack", stack);
    field("output", output);
  }
};

/// An encoder whose outputs are averaged over the tokens of a sequence, and classes from that (Xu
/// et al. 2019, section 2.2).
///   ids: (B, T)   lengths: (B)   returns logits (B, classes)
/// Throws ArgumentError unless `tied` is left as it is: there is no layer that it could untie.
struct TransformerClassifier {
  TokenEmbedding embedding;
  Dropout dropout;
  TransformerStack stack;
  Linear output;

  TransformerClassifier(Index vocabulary, Index classes, Random& random,
                        const TransformerModelOptions& options = {});
  Tensor operator()(const Indices& ids, const Indices& lengths, Mode mode = {}) const;
  void visit(Fields& field) const {
    field("embedding", embedding);
    field("stack", stack);
    field("output", output);
  }
};

/// An encoder and a decoder that attends to it (Vaswani et al. 2017), with one vocabulary.
///   source: (B, Ts)   lengths: (B), of the sources   target: (B, Tt)
///   returns logits of the token after each of the target, (B, Tt, vocabulary)
/// Throws ArgumentError unless `tied`: its output layer is always the embedding, transposed.
struct Translator {
  TokenEmbedding embedding;
  Dropout dropout;
  TransformerStack encoder, decoder;

  Translator(Index vocabulary, Random& random, const TransformerModelOptions& options = {});
  Tensor operator()(const Indices& source, const Indices& lengths, const Indices& target,
                    Mode mode = {}) const;
  /// The encoder's outputs, to decode from: (B, Ts, channels).
  Tensor encode(const Indices& source, const Indices& lengths, Mode mode = {}) const;
  /// With caches, target are the next tokens.
  Tensor decode(const Tensor& memory, const Indices& lengths, const Indices& target, Mode mode = {},
                std::vector<AttentionCache>* caches = nullptr) const;
  void visit(Fields& field) const {
    field("embedding", embedding);
    field("encoder", encoder);
    field("decoder", decoder);
  }
};

/// (B, 1, 1, T): 1 for the tokens of each sequence, 0 for its padding.
Tensor padding_mask(const Indices& lengths, Index steps);

/// The initial weights of GPT-2, for a stack.
void initialize_like_gpt2(const TransformerStack& stack, Random& random);
/// N(0, deviation), and |v| for the gain of a normalized weight.
void set_normal(const Linear& linear, double deviation, Random& random);

}  // namespace tapegrad::TAPEGRAD_SCALAR
