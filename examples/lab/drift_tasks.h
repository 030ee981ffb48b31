#pragma once

#include <string>

#include "lab/comparison.h"
#include "lab/drift_training.h"
#include "support/char_text.h"
#include "support/image_sets.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// A network whose norms may drift.
struct DriftNet {
  std::string norm = "layer_simple";
  /// Initial values of a Transformer's matrices: "library" as GPT-2, N(0, 0.02); "paper"
  /// U(+-1/sqrt(inputs)), as the code of Xu et al. 2019.
  std::string initial = "library";
  std::string placement = "pre";  ///< of a Transformer's norms, or "post"
  std::string axes = "image";     ///< of a convolutional network's norms, or "channels"
  Index layers = 2;               ///< of a Transformer or perceptron
  Index channels = 32;            ///< of a Transformer; a perceptron has four times as many
};

// Batches have 16 rows of 32 characters, or 32 images. Losses of texts are in bits a character,
// those of images are shares of errors in %. Text and images must outlive the tasks.

/// A Transformer that learns to continue a text, with 4 heads, learned positions and no biases.
LearningTask transformer_task(const support::CharText& text, const DriftNet& net,
                              const Trial& trial);
/// A perceptron that learns to tell digits apart, with a norm before each ReLU.
LearningTask perceptron_task(const support::ImageSets& sets, const DriftNet& net,
                             const Trial& trial);
/// The same for `ConvNet`, which has three norms.
LearningTask conv_net_task(const support::ImageSets& sets, const DriftNet& net, const Trial& trial);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
