#pragma once

#include "tapegrad/nn/functions/attention.h"
#include "tapegrad/nn/layers/layer.h"
#include "tapegrad/nn/layers/linear.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct AttentionLayerOptions {
  Index heads = 1;
  bool causal = false;
  bool bias = true;     ///< of the projections
  double dropout = 0;   ///< of the attention weights
  bool rotary = false;  ///< encodes positions by rotating queries and keys
  bool alibi = false;   ///< encodes positions by a bias that falls with distance
  bool weight_norm = false;
};

/// Keys and values of the positions seen so far, for generating token by token. In a decoder, also
/// the keys and values of the other sequence, which stay the same.
/// Example: `AttentionCache cache; SelfAttention(8, random, {})(sequence, {}, {}, &cache)`
struct AttentionCache {
  Tensor keys = {}, values = {};                ///< (B, positions + room, C), or undefined
  Tensor memory_keys = {}, memory_values = {};  ///< (B, Tk, C), or undefined
  Index room = 0;                               ///< for positions to come
  Index length() const { return keys.defined() ? keys.shape()[1] - room : 0; }
  /// Adds the keys and values of the next positions: (B, T, C). Unless they are recorded or another
  /// tensor shares the cache, it writes them in place, and doubles its room where there is none.
  /// Throws ShapeError unless both have one shape, with the batch and C of the cache.
  void append(const Tensor& next_keys, const Tensor& next_values);
  /// Continues with these rows of the batch, which may repeat: (N). If each row continues one with
  /// the same memory, `keep_memory` avoids copying it. Throws ShapeError for a row out of range.
  void select(const Indices& rows, bool keep_memory = false);
};

/// x after the positions before it: the context that attention sees.
///   before: (B, M, C), or undefined   x: (B, T, C)   returns (B, M + T, C), or x
/// Example: `with_memory(zeros({2, 4, 8}), sequence)`
Tensor with_memory(const Tensor& before, const Tensor& x);

/// (heads, queries, keys): -2^(-8 h / heads) times the distance, h from 1 (Press et al. 2022). The
/// last query is at the position of the last key. Throws ArgumentError for heads below 1 and more
/// queries than keys.
/// Example: `alibi_bias(2, 3, 3)`
Tensor alibi_bias(Index heads, Index queries, Index keys);
/// The bias for a position of each key, (B, keys); the queries are the last ones.
///   returns (B, heads, queries, keys)
/// Example: `alibi_bias(2, 1, Indices({1, 3}, {0, 0, 1}))`
Tensor alibi_bias(Index heads, Index queries, const Indices& positions);

/// Throws ShapeError, naming the owner, unless the positions are (batch, keys) and not negative.
/// Example: `expect_positions("Encoder", Indices({1, 3}, {0, 0, 1}), 1, 3)`
void expect_positions(const char* owner, const Indices& positions, Index batch, Index keys);
/// The last `count` columns of each row: (B, T) becomes (B, count).
/// Example: `last_columns(Indices({2, 3}, {0, 1, 2, 3, 4, 5}), 1)`
Indices last_columns(const Indices& rows, Index count);

/// Multi-head self-attention (Vaswani et al. 2017, section 3.2.2).
///   x: (B, T, C)   mask: broadcasts to (B, heads, T, T); 0 hides a key from a query
///   projection: (C, 3 C)   output: (C, C)   returns (B, T, C)
/// With a cache, x holds the next positions: they attend to the cached ones and are appended to
/// them; Tk, the number of keys, is both together, and the mask broadcasts to (B, heads, T, Tk).
/// `rotary` and `alibi` read the positions, (B, Tk); without any, the keys are at 0, 1, ... Throws
/// ShapeError for positions of another shape or below 0, ArgumentError for heads that do not divide
/// the channels, as the other attention layers do, and for `rotary` with an odd number of channels
/// per head.
/// Example: `SelfAttention(8, random, {.heads = 2, .causal = true})(sequence)`
struct SelfAttention {
  AttentionLayerOptions options;
  Linear projection, output;

  SelfAttention(Index channels, Random& random, const AttentionLayerOptions& options);
  Tensor operator()(const Tensor& x, const Tensor& mask = {}, Mode mode = {},
                    AttentionCache* cache = nullptr, const Indices& positions = {},
                    Place = Place::here()) const;
  void visit(Fields& field) const {
    field("projection", projection);
    field("output", output);
  }
  /// nn.MultiheadAttention; not with weight normalization.
  void pytorch(PyTorchState& state) const;
};

/// Multi-head attention of a sequence to another.
///   x: (B, Tq, C)   memory: (B, Tk, C)   mask: broadcasts to (B, heads, Tq, Tk)
/// With a cache, keys and values of the memory are computed by the first call only. Throws
/// ArgumentError for `causal`, `rotary` and `alibi`, since the sequences share no positions.
/// Example: `CrossAttention(8, random, {.heads = 2})(sequence, random.normal({2, 7, 8}))`
struct CrossAttention {
  AttentionLayerOptions options;
  Linear query, key_value, output;

  CrossAttention(Index channels, Random& random, const AttentionLayerOptions& options);
  Tensor operator()(const Tensor& x, const Tensor& memory, const Tensor& mask = {}, Mode mode = {},
                    AttentionCache* cache = nullptr, Place = Place::here()) const;
  /// The weights with which each query sees the keys, without dropout: (B, heads, Tq, Tk).
  Tensor weights(const Tensor& x, const Tensor& memory, const Tensor& mask = {}) const;
  void visit(Fields& field) const {
    field("query", query);
    field("key_value", key_value);
    field("output", output);
  }
  /// nn.MultiheadAttention; not with weight normalization.
  void pytorch(PyTorchState& state) const;
};

/// Causal attention of a segment to itself and to the memory before it, with relative positions
/// (Transformer-XL; Dai et al. 2019, section 3.3):
///   score = ((q_i + u) k_j + (q_i + v) W_r R_(i-j)) / sqrt(d)
///   x: (B, T, C), the segment   context: (B, M + T, C), memory and segment   returns (B, T, C)
/// Throws ArgumentError for `causal`, which it always is, for `rotary` and `alibi`, other positions
/// than its own, and for channels that `sinusoids` refuses.
/// Example: `RelativeAttention(8, random, {.heads = 2})(sequence, sequence)`
struct RelativeAttention {
  AttentionLayerOptions options;
  Linear query, key_value, position, output;
  Parameter content_bias, position_bias;  ///< u and v: (C)

  RelativeAttention(Index channels, Random& random, const AttentionLayerOptions& options);
  Tensor operator()(const Tensor& x, const Tensor& context, Mode mode = {},
                    Place = Place::here()) const;
  void visit(Fields& field) const;
};

/// (count, channels): sines in the first half, cosines in the second, of position times
/// 1e4^(-i / (channels/2 - 1)), for positions first, first + step, ... (Vaswani et al. 2017,
/// section 3.5, in the order of tensor2tensor). Throws ArgumentError for fewer than four or odd
/// channels.
/// Example: `sequence + sinusoids(3, 8)`
Tensor sinusoids(Index count, Index channels, Index first = 0, Index step = 1);
/// Throws ArgumentError, naming the owner, for channels that `sinusoids` refuses.
/// Example: `expect_sinusoids("Encoder", 8)`
void expect_sinusoids(const char* owner, Index channels);

}  // namespace tapegrad::TAPEGRAD_SCALAR
