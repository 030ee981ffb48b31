#pragma once

#include <string>

#include "tapegrad/train/trainer.h"
#include "tapegrad/train/training_flags.h"
#include "tapegrad/zoo/order_embedding.h"

/// The tasks of order embeddings.
namespace tapegrad::TAPEGRAD_SCALAR::support {

struct OrderFlags : TrainingFlags {
  std::string task = "captions", data, query;
  std::string norm = "none", encoder = "gru", cost = "order";
  Index embedding = 64, hidden = 128;
  double margin = 0.05;

  OrderFlags();
  OrderEmbeddingOptions model() const;

 private:
  // Gives flags that were not given the values that suit the task. Throws FlagError for flags that
  // conflict.
  void settle();
};

// Both return the exit code of the program.

/// Learns which captions describe which images, or with --query, finds images for a caption.
int run_captions(const OrderFlags& flags, Trainer& trainer);

/// Learns which concepts are kinds of which, or with --query, shows the order around a concept.
int run_hypernyms(const OrderFlags& flags, Trainer& trainer);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
