#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tapegrad/core/indices.h"
#include "tapegrad/nn/fields.h"
#include "tapegrad/nn/layers/layer.h"
#include "trainers/char_flags.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// A model's memory of the text that it has read: states, segments or keys and values.
using Memory = std::vector<Tensor>;

/// A character-level language model of any kind.
struct CharModel {
  Fields fields;
  /// ids: (B, T)   returns logits (B, T, vocabulary). Continues from the memory, if given, and
  /// updates it for the next call. An empty memory is the start of a text.
  std::function<Tensor(const Indices& ids, Memory* memory, Mode mode)> logits;
  /// Zeros in the shapes of the memory after `blocks` blocks of training, for a model that is
  /// trained on the text in order. Null for one that is trained on random pieces.
  std::function<Memory(Index blocks)> carried;
  /// How many characters its memory can hold; 0: any number.
  Index context = 0;
};

/// Trains a model, evaluates it on the last tenth of the text, and samples from it. Returns the
/// exit code of the program.
int run_char_model(const CharFlags& flags, const std::string& name, Trainer& trainer,
                   const std::function<CharModel(Index vocabulary, Random& random)>& make_model);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
