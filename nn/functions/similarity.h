#pragma once

#include "tapegrad/nn/functions/loss.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct L2Options {
  int axis = -1;
  double epsilon = 1e-12;  ///< least length that counts
};
/// The directions of vectors along an axis: x / max(|x|, epsilon). A vector of zeros stays 0; with
/// epsilon 0, its gradient is as if its length were 1. torch's normalize.
///   x: any shape but a scalar   returns: same shape
/// Throws ShapeError for an axis that does not exist, ArgumentError for a negative epsilon.
/// Elsewhere: `F.normalize`; along the last axis by default
/// Example: `l2_normalize(x, {.axis = 0})`
Tensor l2_normalize(const Tensor& x, L2Options options = {}, Place = Place::here());

struct CosineOptions {
  int axis = -1;
  double epsilon = 0;  ///< least length of a vector
};
/// The cosine of the angle between vectors along an axis: <a, b> / (|a| |b|), of vectors of any
/// length. With a vector of zeros it is 0, as in `l2_normalize`.
///   a, b: of one rank, broadcast   returns their shape without the axis
/// Throws ShapeError for shapes that do not fit, ArgumentError for a negative epsilon.
/// Elsewhere: `F.cosine_similarity`; along the last axis and with eps=0 by default
/// Example: `cosine_similarity(x, y, {.axis = 0})`
Tensor cosine_similarity(const Tensor& a, const Tensor& b, CosineOptions options = {},
                         Place = Place::here());

struct CosineEmbeddingOptions {
  double margin = 0;  ///< the cosine up to which different vectors cost nothing
  Reduction reduction = Reduction::mean;
};
/// The mean over rows of 1 - cos(a, b) where the target is 1, and of max(0, cos(a, b) - margin)
/// where it is -1. torch's cosine_embedding_loss.
///   a, b: (..., C)   target: (...), each 1 or -1   returns () or (...)
/// Throws ShapeError for shapes that do not fit, ArgumentError for a margin outside [-1, 1].
/// Elsewhere: `F.cosine_embedding_loss`; targets are 1 or -1
/// Example: `cosine_embedding(x, y, Tensor({4}, {1, -1, 1, 1}), {.margin = 0.1})`
Tensor cosine_embedding(const Tensor& a, const Tensor& b, const Tensor& target,
                        CosineEmbeddingOptions options = {}, Place = Place::here());

struct TripletOptions {
  double margin = 1;      ///< by how much farther the negative should be
  double epsilon = 1e-6;  ///< added to each difference, so that distances are not 0
  bool swap = false;      ///< counts the negative's distance from the positive if it is less
  Reduction reduction = Reduction::mean;
};
/// The mean over rows of max(0, |anchor - positive| - |anchor - negative| + margin) (Schroff et al.
/// 2015 with distances instead of their squares; swap: Balntas et al. 2016). torch's
/// triplet_margin_loss.
///   anchor, positive, negative: (..., C)   returns () or (...)
/// Throws ShapeError for a scalar and for shapes that differ, ArgumentError unless margin > 0.
/// Elsewhere: `F.triplet_margin_loss`
/// Example: `triplet_margin(x, y, 2.0 * y, {.margin = 0.2})`
Tensor triplet_margin(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                      TripletOptions options = {}, Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
