#pragma once

#include <optional>
#include <vector>

#include "tapegrad/cluster/cluster.h"
#include "tapegrad/nn/data/text.h"
#include "trainers/char_flags.h"
#include "trainers/char_model.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// The training of a model on the first nine tenths of a text; the rest is for validation. Each
/// shard of a batch has a memory of its own.
class CharTraining {
 public:
  /// ids: (length), the text. Throws DataError for a text that is too short for the flags.
  CharTraining(const CharFlags& flags, const CharModel& model, const Indices& ids,
               Cluster& cluster);

  Index training_size() const { return train_.size(); }
  Index validation_size() const { return validation_.size(); }
  /// Chooses random pieces of the text.
  Random& order() { return order_; }

  /// The loss of a shard in a step, counted from 0.
  Tensor loss(Index step, const Shard& shard, Random& masks);
  /// The mean loss over the validation text, in nats per character.
  double evaluate() const;

  /// The memory, as fields of a checkpoint.
  void visit(Fields& field) const { field("tensors", memory_); }
  /// Gives the memory its shapes after `steps` steps.
  void prepare(Index steps);
  /// Makes the memory that of the whole batch.
  void gather();

 private:
  TextBatch next_batch(Index step);
  void begin(Index step);

  const CharFlags& flags_;
  const CharModel& model_;
  Cluster& cluster_;
  Random order_;
  Indices train_, validation_;
  std::optional<TextStreams> streams_;  // for a model that reads the text in order
  Index step_ = -1;                     // the current one
  TextBatch batch_;                     // of the current step
  std::vector<Memory> memories_;        // by shard; only those of this process
  std::vector<Buffer> memory_;          // of the whole batch, for a checkpoint
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
