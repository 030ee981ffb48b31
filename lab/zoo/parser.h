#pragma once

#include "tapegrad/models/mlp.h"
#include "tapegrad/nn/layers/embedding.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct ParserOptions {
  Index embedding = 50;
  Index hidden = 256;
  NormSpec norm = {};  ///< before each activation; none on the logits
  double dropout = 0;
};

/// The net of a transition-based parser (Chen and Manning 2014, with ReLU and two hidden layers as
/// in Xu et al. 2019): scores the transitions that a configuration may take by its F features. With
/// a table E of embeddings, a norm N and e channels:
///
///     x  = [E(f1); ...; E(fF)]                F e values
///     h1 = dropout(relu(N(W1 x + b1)))
///     h2 = dropout(relu(N(W2 h1 + b2)))
///     logits = W3 h2 + b3
///
///   features: (B, F), in [0, vocabulary)   logits: (B, transitions)
/// Throws ArgumentError for sizes below 1 and shares outside [0, 1).
/// Example: `TransitionParser(10, 5, 3, random, {.hidden = 8})(ids)`
struct TransitionParser {
  Embedding embedding;
  Mlp mlp;

  TransitionParser(Index vocabulary, Index features, Index transitions, Random& random,
                   const ParserOptions& options = {})
      : embedding(vocabulary, options.embedding, random),
        mlp({expect_positive("TransitionParser", "features", features) * options.embedding,
             options.hidden, options.hidden, transitions},
            random, {options.norm, options.dropout}) {}
  Tensor operator()(const Indices& features, Mode mode = {}) const {
    return mlp(embedding(features), mode);
  }
  void visit(Fields& field) const {
    field("embedding", embedding);
    field("mlp", mlp);
  }
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
