#pragma once

#include <optional>
#include <vector>

#include "tapegrad/nn/data/text.h"
#include "trainers/char_flags.h"
#include "trainers/char_model.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// The training of a model on the first nine tenths of a text; the rest is for validation.
class CharTraining {
 public:
  /// ids: (length), the text   random: for the weights, then for dropout. Throws DataError for a
  /// text that is too short for the flags.
  CharTraining(const CharFlags& flags, const CharModel& model, const Indices& ids, Random& random);

  Index training_size() const { return train_.size(); }
  Index validation_size() const { return validation_.size(); }
  /// Chooses random pieces of the text.
  Random& order() { return order_; }

  /// The loss of a step, counted from 0.
  Tensor loss(Index step);
  /// The mean loss over the validation text, in nats per character.
  double evaluate() const;

  /// The memory, as fields of a checkpoint.
  void visit(Fields& field) const { field("tensors", memory_); }
  /// Gives the memory its shapes after `steps` steps.
  void prepare(Index steps);

 private:
  TextBatch next_batch(Index step);

  const CharFlags& flags_;
  const CharModel& model_;
  Random& random_;
  Random order_;
  Indices train_, validation_;
  std::optional<TextStreams> streams_;  // for a model that reads the text in order
  std::optional<TextBatch> first_;      // random rows of step 0
  std::vector<Buffer> memory_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
