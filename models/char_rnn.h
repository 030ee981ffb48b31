#pragma once

#include "tapegrad/nn/layers/dropout.h"
#include "tapegrad/nn/layers/embedding.h"
#include "tapegrad/nn/layers/recurrent.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct CharRnnOptions {
  Cell cell = Cell::lstm;
  Index embedding = 128;
  Index hidden = 512;
  RecurrentOptions recurrent = {};
  double dropout = 0;  ///< of the embeddings and the last layer's outputs
};

/// A character-level language model: embedding, recurrent layers, and a linear layer to the logits
/// of the next character.
///   ids: (T, B), in [0, vocabulary)   logits: (T, B, vocabulary)
/// Example: `CharRnn(10, random, {.cell = Cell::gru, .hidden = 16})(transposed(ids)).logits`
struct CharRnn {
  Embedding embedding;
  Recurrent recurrent;
  Dropout dropout;
  Linear output;

  CharRnn(Index vocabulary, Random& random, const CharRnnOptions& options = {});

  struct Result {
    Tensor logits;
    std::vector<RecurrentState> last;  ///< to continue from
  };
  Result operator()(const Indices& ids, const std::vector<RecurrentState>& states = {},
                    Mode mode = {}) const;
  void visit(Fields& field) const {
    field("embedding", embedding);
    field("recurrent", recurrent);
    field("output", output);
  }
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
