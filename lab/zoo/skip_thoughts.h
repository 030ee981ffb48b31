#pragma once

#include "tapegrad/io/sentences.h"
#include "tapegrad/nn/layers/embedding.h"
#include "tapegrad/nn/layers/recurrent.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Example: `SkipThoughts(10, random, SkipThoughtsOptions{.words = 3, .hidden = 4}).every_step`
struct SkipThoughtsOptions {
  Index words = 100;        ///< channels of the words' embeddings
  Index hidden = 256;       ///< H
  NormSpec norm = {};       ///< of all three GRUs
  bool every_step = false;  ///< the decoders see the vector in every step
};

/// Vectors of sentences, learned by predicting from each sentence those before and after it (Kiros
/// et al. 2015; Ba et al. 2016, section 6.3). With the words x_1 ... x_n of a sentence, of which
/// the last is a mark of its end, and the words y_1 ... y_m of a neighbour:
///
///     h = the last state of GRU(E(x_1), ..., E(x_n))          in R^H, the sentence's vector
///     s_1 ... s_m = GRU'(0, E(y_1), ..., E(y_(m-1)))          beginning with the state h
///     -log p(y | h) = sum_t -log softmax(W s_t + b)[y_t]
///
/// The neighbour before and the one after have a decoder GRU' each; E, W and b are shared. In the
/// form `every_step` (Kiros et al. 2015, eq. 5-8) h stands beside each input of a decoder, too.
/// E, W and the weights of the GRUs' inputs start within +-0.1, as in that paper.
/// Throws ArgumentError for sizes below 1, and for norms that a GRU does not support.
/// Example: `SkipThoughts(10, random).output.weight.shape()`
struct SkipThoughts {
  Embedding words;
  RecurrentLayer encoder, before, after;
  Linear output;
  bool every_step;

  SkipThoughts(Index vocabulary, Random& random, const SkipThoughtsOptions& options = {});
  /// The vectors of sentences: (B, H)
  ///   sentences: words in [0, vocabulary), lengths in [0, T]; labels are not used
  Tensor vectors(const SentenceBatch& sentences) const;
  /// The scores of a decoder, `before` or `after`, for words of the neighbours, without padding,
  /// step by step: (sum of the lengths, vocabulary)
  ///   vectors: (B, H)   neighbours: lengths in [1, T]
  Tensor logits(const RecurrentLayer& decoder, const Tensor& vectors,
                const SentenceBatch& neighbours) const;
  /// The mean of -log p over all words of the sentences before and after, in nats.
  Tensor loss(const SentenceBatch& previous, const SentenceBatch& current,
              const SentenceBatch& next) const;
  void visit(Fields& field) const;

 private:
  Tensor states(const RecurrentLayer& decoder, const Tensor& vectors,
                const SentenceBatch& neighbours) const;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
