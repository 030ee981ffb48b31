#include "tapegrad/cluster/internal/shard_sum.h"

#include <algorithm>

namespace tapegrad::TAPEGRAD_SCALAR {

template <class Number>
ShardSum<Number>::ShardSum(Communicator& communicator, Index shards, std::size_t size, int tag)
    : communicator_(communicator),
      tag_(tag),
      all_{0, shards},
      own_(shards_of(communicator.rank(), communicator.size(), shards)),
      size_(size) {
  for (Index rank = 0; rank < communicator.size(); ++rank)
    subtrees_.push_back(subtrees_within(all_, shards_of(rank, communicator.size(), shards)));
}

// The subtrees of this process that end with the last of the sums, from the smallest.
template <class Number>
std::vector<Shards> ShardSum<Number>::completed() const {
  std::vector<Shards> found;
  Shards shards = sums_.back().shards;
  for (std::size_t before = sums_.size() - 1; before > 0; --before) {
    const Shards parent = parent_of(all_, shards);
    if (!parent.within(own_) || parent.left() != sums_[before - 1].shards) break;
    found.push_back(shards = parent);
  }
  return found;
}

template <class Number>
std::span<Number> ShardSum<Number>::next() {
  Index shard = own_.begin;
  if (!sums_.empty()) {
    shard = sums_.back().shards.end;
    const std::vector<Shards> done = completed();
    sums_.erase(sums_.end() - static_cast<std::ptrdiff_t>(done.size()), sums_.end());
    if (!done.empty()) sums_.back().shards = done.back();
  }
  sums_.push_back({{shard, shard + 1}, Numbers<Number>(size_)});
  return sums_.back().numbers.span();
}

template <class Number>
void ShardSum<Number>::ready(std::size_t begin, std::size_t end) {
  const std::size_t last = sums_.size() - 1, count = completed().size();
  for (std::size_t sum = last; sum > last - count; --sum)
    add_to<Number>(sums_[sum - 1].numbers.part(begin, end), sums_[sum].numbers.part(begin, end));
  if (sums_.back().shards.end < own_.end) return;
  ranges_.push_back(all_reduce(begin, end));
  advance();
}

template <class Number>
std::unique_ptr<AllReduce> ShardSum<Number>::all_reduce(std::size_t begin, std::size_t end) const {
  const int tag = tag_ + static_cast<int>(ranges_.size());
  if (adds_in_pairs(communicator_.size(), all_.count()))
    return std::make_unique<Halving<Number>>(communicator_, sums_[0].numbers.part(begin, end), tag);
  std::vector<std::span<Number>> numbers;
  for (const Sum& sum : std::span(sums_).first(subtrees_[communicator_.rank()].size()))
    numbers.push_back(sum.numbers.part(begin, end));
  return std::make_unique<Exchange<Number>>(communicator_, all_, subtrees_, numbers, tag);
}

template <class Number>
bool ShardSum<Number>::advance() {
  bool ended = true;
  for (const auto& range : ranges_) ended = range->advance() && ended;
  return ended;
}

template <class Number>
std::span<const Number> ShardSum<Number>::wait() {
  while (!advance()) continue;
  return sums_[0].numbers.span();
}

template class ShardSum<float>;
template class ShardSum<double>;

}  // namespace tapegrad::TAPEGRAD_SCALAR
