#include "tapegrad/nn/data/batches.h"

#include <numeric>

#include "tapegrad/core/error.h"
#include "tapegrad/nn/options.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

Indices in_order(Index count) {
  Indices order = Indices::uninitialized({count});
  std::iota(order.mutable_data(), order.mutable_data() + count, Index{0});
  return order;
}

}  // namespace

Batches::Batches(const ImageSet& set, Index size, Random& random, Index first)
    : Batches(set, size, random.permutation(set.count()), first) {}

Batches::Batches(const ImageSet& set, Index size) : Batches(set, size, in_order(set.count()), 0) {}

Batches::Batches(const ImageSet& set, Index size, Indices order, Index first)
    : set_(set), size_(size), order_(std::move(order)) {
  expect(order_.size() >= 1, "batches: the set is empty: {} images", order_.size());
  expect_positive("batches", "size", size);
  expect_not_negative("batches", "first", first);
  worker_ = std::thread([this, first] { prepare_all(first); });
}

Batches::~Batches() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (worker_.joinable()) worker_.join();
}

Index Batches::count() const { return (order_.size() + size_ - 1) / size_; }

Batch Batches::prepare(Index batch) const {
  const Index begin = batch * size_, end = std::min(begin + size_, order_.size());
  const auto chosen = order_.values().subspan(begin, end - begin);
  return {set_.images(chosen), set_.labels_of(chosen)};
}

// The worker: one thread for the whole pass, so that its buffers are used again.
void Batches::prepare_all(Index first) {
  const auto wait_until_taken = [this](std::unique_lock<std::mutex>& lock) {
    changed_.wait(lock, [this] { return stopping_ || !ready_; });
    return !stopping_;
  };
  try {
    for (Index batch = first; batch < count(); ++batch) {
      Batch prepared = prepare(batch);
      std::unique_lock lock(mutex_);
      if (!wait_until_taken(lock)) return;
      ready_ = std::move(prepared);
      changed_.notify_all();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  finished_ = true;
  changed_.notify_all();
}

std::optional<Batch> Batches::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ready_ || finished_; });
  std::optional<Batch> batch = std::exchange(ready_, std::nullopt);
  changed_.notify_all();
  if (!batch && failure_) std::rethrow_exception(failure_);
  return batch;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
