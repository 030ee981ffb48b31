#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tapegrad/core/random.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// The batches of a run, by step, where they are made anew for each epoch, in an order of its
/// own. It depends on the seed and the number of the epoch. The number of batches does not. Cannot
/// be copied, and so neither can what holds one: `make` may refer to it.
template <class Batch>
class ShuffledEpochs {
 public:
  using Make = std::function<std::vector<Batch>(Random& order)>;
  ShuffledEpochs(std::uint64_t seed, Make make)
      : seed_(seed), make_(std::move(make)), batches_(epoch(0)) {}
  ShuffledEpochs(const ShuffledEpochs&) = delete;
  ShuffledEpochs& operator=(const ShuffledEpochs&) = delete;

  Index per_epoch() const { return std::ssize(batches_); }
  /// The batch of a step, counted from 0. Valid until the next call.
  const Batch& at(Index step) {
    if (const Index number = step / per_epoch(); number != number_)
      batches_ = epoch(number_ = number);
    return batches_[step % per_epoch()];
  }

 private:
  std::vector<Batch> epoch(Index number) const {
    Random order = Random(seed_).stream(0).stream(number);
    return make_(order);
  }

  std::uint64_t seed_;
  Make make_;
  Index number_ = 0;
  std::vector<Batch> batches_;  // of the current epoch
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
