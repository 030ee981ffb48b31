#pragma once

#include "tapegrad/core/random.h"
#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct AttentionOptions {
  Index heads = 1;
  /// Query i sees keys up to position i + Tk - Tq: the last query sees all.
  bool causal = false;
  /// Times the products; 0: 1/sqrt(channels of a head).
  double scale = 0;
  /// Broadcasts to (B, heads, Tq, Tk): 0 where a query must not see a key. A constant.
  Tensor mask = {};
  /// Broadcasts to (B, heads, Tq, Tk): added to the scaled scores. Differentiable.
  Tensor bias = {};
  /// Of the weights, with `random`.
  double dropout = 0;
  Random* random = nullptr;
};

/// Scaled dot-product attention, softmax(q k^T / sqrt(d) + bias) v in each head (Vaswani et al.
/// 2017, eq. 1). A query that may see no key gets 0.
///   q: (B, Tq, C)   k, v: (B, Tk, C), the heads side by side   returns (B, Tq, C)
/// Fused unless it has a bias that is differentiated. Throws ShapeError for shapes that do not fit,
/// ArgumentError for heads that do not divide the channels, for dropout outside [0, 1) and for
/// dropout without random numbers.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options = {}, Place = Place::here());
/// The same where queries, keys and values come side by side from one projection: (B, T, 3 C).
Tensor self_attention(const Tensor& projected, const AttentionOptions& options = {},
                      Place = Place::here());

/// Turns each pair of channels (2i, 2i+1) of each head by the angle position base^(-2i/d), so that
/// scores depend on distances only (Su et al. 2021, eq. 34).
///   x: (B, T, C), positions from `first` on   returns: same shape
/// Throws ShapeError for heads of an odd number of channels, ArgumentError for a base that is not
/// positive.
Tensor rotary(const Tensor& x, Index heads, Index first = 0, double base = 1e4,
              Place = Place::here());

/// Scores by distance as scores by position (Dai et al. 2019, appendix B): y[i, j] = x[i, j + T - 1
/// - i] of x: (..., T, K), whose column j' belongs to the distance K - 1 - j'. Where that column
/// lies beyond the last, which is the future, the value means nothing.
Tensor relative_shift(const Tensor& scores, Place = Place::here());

namespace composite {
/// The definition, in primitive operations.
Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v,
                 const AttentionOptions& options = {});
}  // namespace composite

}  // namespace tapegrad::TAPEGRAD_SCALAR
