#pragma once

#include <string>

#include "tapegrad/models/transformer.h"
#include "tapegrad/train/optimizer_flags.h"
#include "tapegrad/train/run.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

struct ClassifyFlags {
  std::string task = "agreement";
  std::string data;
  std::string norm = "layer";
  std::string placement = "pre";
  Index layers = 4;
  Index heads = 4;
  Index channels = 128;
  Index hidden = 128;
  Index batch_tokens = 1024;
  Index epochs = 10;
  double dropout = 0.2;
  std::uint64_t seed = 1;
  Index seeds = 1;
  OptimizerFlags optimizer{.learning_rate = 1e-3, .beta2 = 0.998};
  RunFlags run;

  void add_to(Flags& flags);
  /// Throws CLI::ValidationError for flags that conflict.
  void check() const;
  TransformerModelOptions model() const;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
