#pragma once

#include <functional>
#include <vector>

#include "tapegrad/core/indices.h"
#include "tapegrad/nn/fields.h"
#include "tapegrad/nn/layers/layer.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// What a model remembers of the text that it has read: states, segments or keys and values.
using Memory = std::vector<Tensor>;

/// A language model over characters, whatever its kind.
struct CharModel {
  Fields fields;
  /// ids: (B, T)   returns logits (B, T, vocabulary). With a memory, goes on from what it holds
  /// (nothing if it is empty), and leaves there what the next call needs.
  std::function<Tensor(const Indices& ids, Memory* memory, Mode mode)> logits;
  /// Zeros of the shapes that the memory has after `blocks` blocks of training, for a model whose
  /// training goes through the text in order; null for one that is trained on random pieces.
  std::function<Memory(Index blocks)> carried;
  /// How many characters its memory can hold; 0: any number.
  Index context = 0;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
