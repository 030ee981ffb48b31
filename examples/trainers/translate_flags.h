#pragma once

#include <string>

#include "tapegrad/models/transformer.h"
#include "tapegrad/train/optimizer_flags.h"
#include "tapegrad/train/run.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Their defaults are a small Transformer of the depth of Xu et al. 2019, section 2.2.
struct TranslateFlags {
  std::string data;
  std::string from = "de", to = "en";
  Index vocabulary = 4000;
  std::string norm = "layer";
  std::string placement = "pre";
  Index layers = 6;
  Index heads = 4;
  Index channels = 64;
  Index hidden = 128;
  Index batch_tokens = 2048;
  Index epochs = 5;
  double dropout = 0.1;
  double attention_dropout = 0.1;
  double activation_dropout = 0.1;
  double label_smoothing = 0.1;
  std::uint64_t seed = 1;
  OptimizerFlags optimizer{.optimizer = "adamw",
                           .schedule = "warmup",
                           .learning_rate = 2e-3,
                           .warmup = 300,
                           .beta2 = 0.98,
                           .weight_decay = 1e-4};
  RunFlags run{.keep_best = true};
  Index beam = 5;
  std::string translate;
  std::string attention;

  void add_to(Flags& flags);
  /// Throws CLI::ValidationError for flags that conflict.
  void check(const Flags& given) const;
  TransformerModelOptions model() const;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
