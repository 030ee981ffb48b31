#pragma once

#include <optional>

#include "tapegrad/nn/layers/embedding.h"
#include "tapegrad/nn/layers/recurrent.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Example: `OrderEmbedding(10, 6, random, OrderEmbeddingOptions{.words = 3}).image(ones({2, 6}))`
struct OrderEmbeddingOptions {
  Index words = 64;           ///< channels of the words' embeddings
  Index hidden = 128;         ///< D
  NormSpec norm = {};         ///< of the GRU
  bool symmetric = false;     ///< costs are negative cosines
  bool bag_of_words = false;  ///< h is a linear function of the sum of the words
};

/// Captions and images as points of one space, in which a caption lies below the images that it
/// describes (Vendrov et al. 2016; Ba et al. 2016, section 6.1). With the words x_1 ... x_T of a
/// caption, a table E of embeddings and the features v of an image:
///
///     h = the last state of GRU(E(x_1), ..., E(x_T))      in R^D
///     s = |h / ||h|||                                      absolute values after the division
///     m = |(W v + b) / ||W v + b|||
///     E(s, m) = sum_d max(0, s_d - m_d)^2                  `order_violation`: 0 if s <= m
///
/// The symmetric form leaves out the absolute values, and its cost is -<s, m>. Train it with
/// `contrastive_sum` of the costs of a batch. E starts within +-0.1, W as in Glorot and Bengio
/// (2010). Throws ArgumentError for sizes below 1, and for norms that a GRU does not support.
/// Example: `OrderEmbedding(10, 6, random).costs(ones({2, 128}), ones({3, 128}))`
struct OrderEmbedding {
  Embedding words;
  std::optional<Recurrent> encoder;  ///< unless a bag of words
  std::optional<Linear> bag;
  Linear features;  ///< W and b
  bool symmetric;

  OrderEmbedding(Index vocabulary, Index features, Random& random,
                 const OrderEmbeddingOptions& options = {});
  /// ids: (B, T), in [0, vocabulary)   lengths: (B), in [0, T]   returns (B, D)
  Tensor caption(const Indices& ids, const Indices& lengths) const;
  /// v: (B, features)   returns (B, D)
  Tensor image(const Tensor& v) const;
  /// captions: (C, D)   images: (I, D)   returns (C, I), the less the better
  Tensor costs(const Tensor& captions, const Tensor& images) const;
  void visit(Fields& field) const {
    field("words", words);
    field("encoder", encoder);
    field("bag", bag);
    field("features", features);
  }
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
