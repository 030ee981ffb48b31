#include "tapegrad/nn/data/batches.h"

#include <numeric>

#include "tapegrad/core/error.h"

namespace tapegrad {
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
    : set_(set), size_(size), order_(std::move(order)), next_(first) {
  expect(size >= 1, "batches: needs at least one image a batch: {}", size);
  expect(first >= 0, "batches: cannot skip {} batches", first);
  prepare_next();
}

Index Batches::count() const { return (order_.size() + size_ - 1) / size_; }

Batch Batches::prepare(Index batch) const {
  const Index begin = batch * size_, end = std::min(begin + size_, order_.size());
  const auto chosen = order_.values().subspan(begin, end - begin);
  return {set_.images(chosen), set_.labels_of(chosen)};
}

void Batches::prepare_next() {
  if (next_ < count())
    prepared_ = std::async(std::launch::async, [this, batch = next_] { return prepare(batch); });
}

Batches::Iterator& Batches::Iterator::operator++() {
  if (!batches_->prepared_.valid()) {
    batches_ = nullptr;
    return *this;
  }
  current_ = batches_->prepared_.get();
  ++batches_->next_;
  batches_->prepare_next();
  return *this;
}

}  // namespace tapegrad
