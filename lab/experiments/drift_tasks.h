#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/char_text.h"
#include "experiments/comparison.h"
#include "experiments/drift_training.h"
#include "support/image_sets.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// A network whose norms may drift.
struct DriftNet {
  /// Initial values of matrices: of a Transformer "library" as GPT-2, N(0, 0.02), or "paper"
  /// U(+-1/sqrt(inputs)), as the code of Xu et al. 2019; of a perceptron "library"
  /// U(+-1/sqrt(inputs)), or "he", N(0, 2/inputs) with biases of 0.
  std::string initial = "library";
  std::string placement = "pre";  ///< of a Transformer's norms, or "post"
  std::string axes = "image";     ///< of a convolutional network's norms, or "channels"
  Index layers = 2;               ///< of a Transformer or perceptron
  Index channels = 32;            ///< of a Transformer; a perceptron has four times as many
};

/// All that a run depends on but its norm, remedy, learning rate and seed.
struct Condition {
  /// grammar, text: a Transformer with 4 heads, learned positions and no biases continues a text;
  /// mnist: a perceptron with a norm before each ReLU, cnn: `ConvNet`, both classify digits.
  std::string task;
  std::string optimizer;  ///< one of `drift_optimizers`
  DriftNet net;
  Index steps;
  Index images = 32;  ///< in a batch

  bool is_text() const { return task == "grammar" || task == "text"; }
  /// The middle of the learning rates to try.
  double usual_rate() const;
  std::string name() const;
};

/// What conditions are made of.
struct ConditionLists {
  std::vector<std::string> tasks{"grammar", "mnist", "cnn"};
  std::vector<std::string> optimizers{"adamw", "adam", "sign", "momentum", "sgd"};
  std::vector<std::string> initials{"library", "paper"};
  std::vector<std::string> placements{"pre", "post"};
  std::vector<std::string> axes{"image", "channels"};
  std::vector<Index> layers{2, 6};
  std::vector<Index> channels{32, 128};
  std::vector<Index> steps{300, 1200};

  /// The first values of all lists.
  Condition base() const;
  /// The base, then conditions that differ from it in one thing that its task depends on. On the
  /// other tasks, what is varied is the optimizer and, for a cnn, the axes.
  std::vector<Condition> conditions() const;
};

/// In a batch of a Transformer.
inline constexpr Index characters_in_row = 32;

/// The optimizers of conditions. "sign" makes steps of equal size in each element.
std::vector<std::string> drift_optimizers();

struct DriftData {
  support::CharText grammar;
  std::optional<support::CharText> text = {};     ///< for the task text
  std::optional<support::ImageSets> images = {};  ///< for the tasks mnist and cnn

  std::string digest() const;
};

/// Draws or reads what these tasks need. Throws DataError.
///   text: a file, for the task text   images: a folder of MNIST, or empty   seed: of what is drawn
DriftData make_drift_data(const std::vector<std::string>& tasks, const std::string& text,
                          const std::string& images, std::uint64_t seed);

/// The task of a condition, with a norm. Batches of text have 16 rows of characters. It is judged
/// by bits per character, or by the share of errors in %. The data must outlive it.
Learner make_task(const Condition& condition, const NormSpec& norm, const DriftData& data,
                  const Trial& trial);

/// A task with the norm of a system. Its loss of a step is the same as often as it is computed.
using LearnerOfSystem = std::function<Learner(const std::string& system, const Trial& trial)>;

/// Trains it with one of `drift_optimizers` and a warmup of a twentieth of the steps, then along
/// half a cosine. AdamW has a decay of 0.1.
///   system: for `norm_and_constraints`   seen: called after each step
///   is_watched: whether the outcome has the traces of `train_watched`
Outcome train(const LearnerOfSystem& make, const std::string& optimizer, const std::string& system,
              double rate, const Trial& trial, const std::function<void(double loss)>& seen = {},
              bool is_watched = true);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
