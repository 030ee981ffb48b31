#pragma once

#include <string>

#include "tapegrad/train/optimizer_flags.h"
#include "tapegrad/train/run.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// The flags that all character-level language models share.
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

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
