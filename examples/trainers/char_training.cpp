#include "trainers/char_training.h"

#include "tapegrad/core/error.h"
#include "tapegrad/ops/loss.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

constexpr Index evaluation_rows = 64;

}  // namespace

CharTraining::CharTraining(const CharFlags& flags, const CharModel& model, const Indices& ids,
                           Random& random)
    : flags_(flags), model_(model), random_(random), order_(Random(flags.seed).stream(0)) {
  const TextSplit split = split_text(ids);
  train_ = split.training;
  validation_ = split.validation;
  expect<DataError>(validation_.size() >= 2, "text: {} characters are too few", ids.size());
  if (model.carried) streams_.emplace(train_, flags.batch_size, flags.seq_len);
  expect<DataError>(train_.size() > flags.seq_len,
                    "text: {} characters to train on are too few for --seq-len {}", train_.size(),
                    flags.seq_len);
}

TextBatch CharTraining::next_batch(Index step) {
  if (streams_) {
    const Index block = step % streams_->blocks();
    if (block == 0) memory_.clear();
    return streams_->block(block);
  }
  if (step == 0 && first_) return *first_;
  const TextBatch batch = random_rows(train_, flags_.batch_size, flags_.seq_len, order_);
  if (step == 0) first_ = batch;
  return batch;
}

Tensor CharTraining::loss(Index step) {
  const TextBatch batch = next_batch(step);
  Memory memory(memory_.begin(), memory_.end());
  const Tensor logits = model_.logits(batch.inputs, streams_ ? &memory : nullptr, {&random_});
  memory_.clear();
  for (const Tensor& each : memory) memory_.emplace_back(detach(each));
  return cross_entropy(logits, batch.targets);
}

double CharTraining::evaluate() const {
  double total = 0;
  for (const auto& group : text_blocks(validation_, evaluation_rows, flags_.seq_len)) {
    Memory memory;
    for (const TextBatch& batch : group) {
      const Tensor logits = model_.logits(batch.inputs, streams_ ? &memory : nullptr, {});
      total +=
          cross_entropy(logits, batch.targets).item() * static_cast<double>(batch.targets.size());
    }
  }
  return total / static_cast<double>(validation_.size() - 1);
}

void CharTraining::prepare(Index steps) {
  if (!streams_ || steps == 0) return;
  // The memory is still there at the end of a pass; the next block drops it.
  const Index block = steps % streams_->blocks();
  const Memory memory = model_.carried(block == 0 ? streams_->blocks() : block);
  memory_ = std::vector<Buffer>(memory.begin(), memory.end());
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
