#pragma once

#include "tapegrad/nn/beam_search.h"
#include "tapegrad/nn/layers/embedding.h"
#include "tapegrad/nn/layers/transformer.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// How a model encodes the positions of tokens. Learned ones end at the `length` of the model. The
/// others have no end, but a net may be much worse at positions beyond its training.
/// Example: `TransformerLm(10, random, {.positions = Positions::rotary})(ids)`
enum class Positions { none, learned, sinusoidal, rotary, alibi };

/// Token embeddings with positions. Sinusoidal positions multiply the embeddings by sqrt(channels)
/// (Vaswani et al. 2017, section 3.4).
///   ids: (B, T), at positions from `first` on   returns (B, T, channels)
/// Throws ArgumentError for a length below 1, for sinusoidal positions with channels that
/// `sinusoids` refuses, and, when called, beyond `length` learned positions.
/// Example: `TokenEmbedding(10, 16, 5, Positions::learned, random)(ids)`
struct TokenEmbedding {
  Positions positions;
  Embedding tokens;
  Parameter table;  ///< (length, channels), for learned positions

  TokenEmbedding(Index vocabulary, Index channels, Index length, Positions positions,
                 Random& random);
  Tensor operator()(const Indices& ids, Index first = 0) const;
  /// Takes a position for each id: (B, T).
  Tensor operator()(const Indices& ids, const Indices& positions) const;
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

/// Where the tokens of a batch stand and what they may see, if its rows are not one text each, from
/// the first column on: `left_padded` and `packed` make such contexts. The keys, Tk in number, are
/// the tokens in the caches and then the tokens of the call.
/// Example: `const TokenContext context{.positions = Indices({1, 3}, {0, 1, 0})}`
struct TokenContext {
  Indices positions = {};  ///< (B, Tk), not negative; undefined: 0, 1, ... in each row
  Tensor mask = {};        ///< broadcasts to (B, heads, T, Tk); 0 hides a key from a query
};

/// Texts that end in the last column, behind padding: text b stands in the last lengths[b] of
/// `steps` columns, at positions from 0 on. Nothing sees the padding, whose own logits mean
/// nothing. To go on by n tokens a row with caches: `left_padded` of lengths + n and steps + n.
///   lengths: (B)   Throws ShapeError for lengths outside [0, steps].
/// Example: `left_padded(Indices({2}, {5, 3}), 5).positions`
TokenContext left_padded(const Indices& lengths, Index steps);

/// Several texts in a row, one after the other: neighbours with the same number belong to one text,
/// which begins at position 0 and sees no other.
///   texts: (B, T)   Throws ShapeError for another rank.
/// Example: `packed(Indices({1, 5}, {0, 0, 0, 1, 1})).mask`
TokenContext packed(const Indices& texts);

/// A decoder-only language model, initialized like GPT-2 (Radford et al. 2019, section 2.3):
/// weights N(0, 0.02), divided by sqrt(2 layers) in the projections that end a residual branch;
/// biases 0.
///   ids: (B, T)   returns logits (B, T, vocabulary)
/// Example: `TransformerLm(10, random, {.stack = {.layers = 2, .norm = "rms"}})(ids)`
struct TransformerLm {
  TokenEmbedding embedding;
  Dropout dropout;
  TransformerStack stack;
  std::optional<Linear> output;  ///< if not tied

  TransformerLm(Index vocabulary, Random& random, const TransformerModelOptions& options = {});
  /// With caches, ids are the tokens that follow those seen. Throws ShapeError for a context that
  /// does not fit, and for positions beyond the learned ones.
  Tensor operator()(const Indices& ids, Mode mode = {},
                    std::vector<AttentionCache>* caches = nullptr,
                    const TokenContext& context = {}) const;
  void visit(Fields& field) const {
    field("embedding", embedding);
    field("stack", stack);
    field("output", output);
  }
};

/// A classifier: an encoder, the mean of its outputs over the tokens of a sequence, and a linear
/// layer (Xu et al. 2019, section 2.2).
///   ids: (B, T)   lengths: (B)   returns logits (B, classes)
/// Throws ArgumentError unless `tied` is left as it is: there is no layer that it could untie.
/// Example: `TransformerClassifier(10, 3, random)(ids, Indices({2}, {5, 3}))`
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

/// An encoder and a decoder that attends to it (Vaswani et al. 2017), with a shared vocabulary.
///   source: (B, Ts)   lengths: (B), of the sources   target: (B, Tt)
///   returns logits of the token after each of the target, (B, Tt, vocabulary)
/// Throws ArgumentError unless `tied`: its output layer is always the embedding, transposed.
/// Example: `Translator(10, random)(ids, Indices({2}, {5, 3}), ids)`
struct Translator {
  TokenEmbedding embedding;
  Dropout dropout;
  TransformerStack encoder, decoder;

  Translator(Index vocabulary, Random& random, const TransformerModelOptions& options = {});
  Tensor operator()(const Indices& source, const Indices& lengths, const Indices& target,
                    Mode mode = {}) const;
  /// The encoder's outputs, for `decode`: (B, Ts, channels).
  Tensor encode(const Indices& source, const Indices& lengths, Mode mode = {}) const;
  /// With caches, target holds the next tokens, and only the first call reads the memory's values.
  Tensor decode(const Tensor& memory, const Indices& lengths, const Indices& target, Mode mode = {},
                std::vector<AttentionCache>* caches = nullptr) const;
  /// Searches for the best targets of each source, of at most `longest` tokens.
  std::vector<std::vector<Hypothesis>> translate(const Indices& source, const Indices& lengths,
                                                 const std::vector<Index>& longest,
                                                 const BeamOptions& options) const;
  /// Where each position of the target looks in the source, layer by layer:
  /// (B, heads, Tt, Ts), of sum 1 over Ts.
  std::vector<Tensor> attention(const Indices& source, const Indices& lengths,
                                const Indices& target) const;
  void visit(Fields& field) const {
    field("embedding", embedding);
    field("encoder", encoder);
    field("decoder", decoder);
  }
};

/// (B, 1, 1, T): 1 for the tokens of each sequence, 0 for its padding.
/// Example: `padding_mask(Indices({2}, {5, 3}), 5)`
Tensor padding_mask(const Indices& lengths, Index steps);

/// Initializes a stack like GPT-2.
/// Example: `initialize_like_gpt2(TransformerStack(random, {.layers = 2}), random)`
void initialize_like_gpt2(const TransformerStack& stack, Random& random);
/// Sets the weight to N(0, deviation), and with weight normalization the gain to |v|.
/// Example: `set_normal(Linear(6, 3, random), 0.02, random)`
void set_normal(const Linear& linear, double deviation, Random& random);

}  // namespace tapegrad::TAPEGRAD_SCALAR
