#include "trainers/char_training.h"

#include "tapegrad/core/error.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/loss.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

constexpr Index evaluation_rows = 64;

}  // namespace

CharTraining::CharTraining(const CharFlags& flags, const CharModel& model, const Indices& ids,
                           Cluster& cluster)
    : flags_(flags),
      model_(model),
      cluster_(cluster),
      order_(Random(flags.seed).stream(0)),
      memories_(static_cast<std::size_t>(cluster.shards())) {
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
  return streams_ ? streams_->block(step % streams_->blocks())
                  : random_rows(train_, flags_.batch_size, flags_.seq_len, order_);
}

void CharTraining::begin(Index step) {
  if (step == step_) return;
  batch_ = next_batch(step);
  step_ = step;
  if (memory_.empty()) return;  // otherwise it is that of a checkpoint
  for (const Shard& shard : cluster_.shards_of_batch(flags_.batch_size)) {
    Memory& memory = memories_[static_cast<std::size_t>(shard.index)];
    memory.clear();
    for (const Buffer& all : memory_) memory.push_back(part(all.value(), shard.begin, shard.end));
  }
  memory_.clear();
}

Tensor CharTraining::loss(Index step, const Shard& shard, Random& masks) {
  begin(step);
  const Indices inputs = part(batch_.inputs, shard.begin, shard.end);
  Memory& memory = memories_[static_cast<std::size_t>(shard.index)];
  if (streams_ && step % streams_->blocks() == 0) memory.clear();
  const Tensor logits = model_.logits(inputs, streams_ ? &memory : nullptr, training(masks));
  for (Tensor& each : memory) each = detach(each);
  return cross_entropy(logits, part(batch_.targets, shard.begin, shard.end));
}

double CharTraining::evaluate() const {
  double total = 0;
  for (const auto& group : text_blocks(validation_, evaluation_rows, flags_.seq_len)) {
    const Index rows = group.empty() ? 0 : group.front().inputs.shape()[0];
    total += cluster_.sums(rows, 1, [&](const Shard& shard) {
      double loss = 0;
      Memory memory;
      for (const TextBatch& batch : group) {
        const Indices targets = part(batch.targets, shard.begin, shard.end);
        const Tensor logits = model_.logits(part(batch.inputs, shard.begin, shard.end),
                                            streams_ ? &memory : nullptr, {});
        loss += cross_entropy(logits, targets).item() * static_cast<double>(targets.size());
      }
      return std::vector{loss};
    })[0];
  }
  return total / static_cast<double>(validation_.size() - 1);
}

void CharTraining::gather() {
  if (!streams_) return;
  std::vector<Memory> parts;  // by tensor, of each shard
  for (const Shard& shard : cluster_.shards_of_batch(flags_.batch_size)) {
    const Memory& memory = memories_[static_cast<std::size_t>(shard.index)];
    parts.resize(memory.size());
    for (std::size_t i = 0; i < memory.size(); ++i) parts[i].push_back(memory[i]);
  }
  memory_.clear();
  for (const Memory& each : parts) memory_.emplace_back(cluster_.gather(concat(each)));
}

void CharTraining::prepare(Index steps) {
  if (!streams_ || steps == 0) return;
  // The memory is still there at the end of a pass; the next block drops it.
  const Index block = steps % streams_->blocks();
  const Memory memory = model_.carried(block == 0 ? streams_->blocks() : block);
  memory_ = std::vector<Buffer>(memory.begin(), memory.end());
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
