#pragma once

#include <string>

#include "problems/sentences.h"
#include "tapegrad/train/optimizer_flags.h"
#include "tapegrad/train/run.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

struct ClassifyFlags {
  std::string task = "agreement";
  std::string data;
  problems::SentenceNet net;
  Index batch_tokens = 1024;
  Index epochs = 10;
  std::uint64_t seed = 1;
  Index seeds = 1;
  OptimizerFlags optimizer{.learning_rate = 1e-3, .beta2 = 0.998};
  RunFlags run{.keep_best = true};

  void add_to(Flags& flags);
  /// Throws CLI::ValidationError for flags that conflict.
  void check() const;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
