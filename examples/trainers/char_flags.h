#pragma once

#include <string>

#include "tapegrad/train/training_flags.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// The flags that all character-level language models share.
struct CharFlags : TrainerFlags {
  std::string norm = "none";
  Index layers = 1;
  Index seq_len = 64;
  Index batch_size = 32;
  Index steps = 2000;
  double dropout = 0;
  std::string data;
  std::uint64_t seed = 1;
  Index sample = 0;
  std::string prompt = "\n";
  double temperature = 0.8;
  Index top_k = 0;

  using TrainerFlags::TrainerFlags;
  /// Enters them, after the flags of a model.
  void add_shared();
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
