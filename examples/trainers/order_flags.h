#pragma once

#include <string>

#include "tapegrad/train/training_flags.h"
#include "tapegrad/zoo/order_embedding.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

struct OrderFlags : TrainingFlags {
  std::string task = "captions", data, query;
  std::string norm = "none", encoder = "gru", cost = "order";
  Index embedding = 64, hidden = 128;
  double margin = 0.05;

  OrderFlags();
  /// Gives flags that were not given the values that suit the task. Throws CLI::ValidationError
  /// for flags that conflict.
  void settle();
  OrderEmbeddingOptions model() const;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
