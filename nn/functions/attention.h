#pragma once

#include "tapegrad/core/indices.h"
#include "tapegrad/core/random.h"
#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct AttentionOptions {
  Index heads = 1;
  /// Query i sees keys up to position i + Tk - Tq, so the last query sees all.
  bool causal = false;
  /// Factor of the scores; 0 means 1/sqrt(channels of a head).
  double scale = 0;
  /// Broadcasts to (B, heads, Tq, Tk); 0 hides a key from a query. A constant. As in PyTorch, a NaN
  /// in the values of a hidden key reaches the result, as 0 times NaN, and what arrives at a query
  /// reaches the hidden key likewise.
  Tensor mask = {};
  /// Broadcasts to (B, heads, Tq, Tk); added to the scaled scores. -inf hides a key from a query.
  /// Differentiable.
  Tensor bias = {};
  /// Uses only the first so many keys and values: behind them is room for others; 0: all.
  Index keys = 0;
  /// Dropout rate of the attention weights; needs `random`.
  double dropout = 0;
  Random* random = nullptr;
};

/// Scaled dot-product attention, softmax(q k^T / sqrt(d) + bias) v in each head (Vaswani et al.
/// 2017, eq. 1). A query that sees no key gets 0.
///   q: (B, Tq, C)   k, v: (B, Tk, C), the heads side by side   returns (B, Tq, C)
/// Fused, unless its bias is differentiated. Throws ShapeError for shapes that do not fit,
/// ArgumentError for heads that do not divide the channels, for dropout outside [0, 1), for dropout
/// without `random` and for more `keys` than k has.
/// Example: `attention(sequence, sequence, sequence, {.heads = 2, .causal = true})`
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options = {}, Place = Place::here());
/// Attention of queries, keys and values side by side in one projection: (B, T, 3 C).
/// Example: `self_attention(random.normal({2, 5, 12}), {.heads = 2})`
Tensor self_attention(const Tensor& projected, const AttentionOptions& options = {},
                      Place = Place::here());

/// Rotates each pair of channels (2i, 2i+1) of each head by the angle position base^(-2i/d), so
/// that scores depend only on distances (Su et al. 2021, eq. 34).
///   x: (B, T, C), positions from `first` on   returns: same shape
/// Throws ShapeError if a head has an odd number of channels, ArgumentError unless the base is
/// positive.
/// Example: `rotary(sequence, 2)`
Tensor rotary(const Tensor& x, Index heads, Index first = 0, double base = 1e4,
              Place = Place::here());
/// Turns each row of channels by its own position: (B, T). Throws ShapeError for others.
/// Example: `rotary(zeros({1, 3, 8}), 2, Indices({1, 3}, {0, 1, 0}))`
Tensor rotary(const Tensor& x, Index heads, const Indices& positions, double base = 1e4,
              Place = Place::here());

/// Turns scores by distance into scores by position (Dai et al. 2019, appendix B):
/// y[i, j] = x[i, j + T - 1 - i]. Column c of x: (..., T, K) holds the scores at distance
/// K - 1 - c. Where j + T - 1 - i is past the last column, key j lies in the future and y[i, j] is
/// meaningless.
/// Example: `relative_shift(random.normal({2, 5, 9}))`
Tensor relative_shift(const Tensor& scores, Place = Place::here());

namespace composite {
/// The definition, in primitive operations.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options = {});
}  // namespace composite

}  // namespace tapegrad::TAPEGRAD_SCALAR
