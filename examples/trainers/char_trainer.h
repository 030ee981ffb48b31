#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tapegrad/nn/data/text.h"
#include "tapegrad/nn/layer.h"
#include "tapegrad/train/optimizer_flags.h"
#include "tapegrad/train/run.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// The flags that all language models over characters share.
struct CharFlags {
  std::string norm = "none";
  Index layers = 1;
  Index seq_len = 64;
  Index batch_size = 32;
  Index steps = 2000;
  double dropout = 0;
  std::string data;
  std::uint64_t seed = 1;
  OptimizerFlags optimizer;
  RunFlags run;
  Index sample = 0;
  std::string prompt = "\n";
  double temperature = 0.8;
  Index top_k = 0;

  void add_to(Flags& flags);
};

/// What a model remembers of the text that it has read: states, segments or keys and values.
using Memory = std::vector<Tensor>;

/// A language model over characters, whatever its kind.
struct CharModel {
  Fields fields;
  Index parameter_count;
  /// ids: (B, T)   returns logits (B, T, vocabulary). With a memory, goes on from what it holds
  /// (nothing if it is empty), and leaves there what the next call needs.
  std::function<Tensor(const Indices& ids, Memory* memory, Mode mode)> logits;
  /// Zeros of the shapes that the memory has after `blocks` blocks of training, for a model whose
  /// training goes through the text in order; null for one that is trained on random pieces.
  std::function<Memory(Index blocks)> carried;
  /// How many characters its memory can hold; 0: any number.
  Index context = 0;
};

/// Trains a model, evaluates it on the last tenth of the text, and samples from it. Returns the
/// exit code of the program.
int run_char_model(CharFlags& flags, Flags& all, const std::string& name,
                   const std::function<CharModel(Index vocabulary, Random& random)>& make_model);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
