#include "tapegrad/cluster/internal/shard_sum.h"

#include <algorithm>

namespace tapegrad::TAPEGRAD_SCALAR {

template <class Number>
ShardSum<Number>::ShardSum(Communicator& communicator, Index shards, std::size_t size, int tag)
    : communicator_(communicator),
      tag_(tag),
      all_{0, shards},
      own_(shards_of(communicator.rank(), communicator.size(), shards)),
      result_(size) {
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
    sums_.resize(sums_.size() - done.size());
    if (!done.empty()) sums_.back().shards = done.back();
  }
  sums_.push_back({{shard, shard + 1}, std::vector<Number>(result_.size())});
  return sums_.back().numbers;
}

template <class Number>
void ShardSum<Number>::ready(std::size_t begin, std::size_t end) {
  const std::size_t last = sums_.size() - 1, count = completed().size();
  for (std::size_t sum = last; sum > last - count; --sum)
    for (std::size_t i = begin; i < end; ++i) sums_[sum - 1].numbers[i] += sums_[sum].numbers[i];
  if (sums_.back().shards.end < own_.end) return;
  const int tag = tag_ + 2 * static_cast<int>(shipments_.size());
  shipments_.push_back({begin, end, tag, {}, nullptr, nullptr});
  send_pieces(shipments_.back());
  advance();
}

// The numbers of a shipment that a process adds for all.
template <class Number>
auto ShardSum<Number>::piece(const Shipment& shipment, Index rank) const -> Span {
  const std::size_t count = shipment.end - shipment.begin;
  const auto processes = static_cast<std::size_t>(communicator_.size());
  const auto bound = [&](Index of) {
    return shipment.begin + count * static_cast<std::size_t>(of) / processes;
  };
  return {bound(rank), bound(rank + 1)};
}

template <class Number>
template <class Numbers>
auto ShardSum<Number>::bytes_of(Numbers& numbers, Span part) {
  const auto span = std::span(numbers).subspan(part.first, part.second - part.first);
  if constexpr (std::is_const_v<Numbers>)
    return std::as_bytes(span);
  else
    return std::as_writable_bytes(span);
}

template <class Number>
void ShardSum<Number>::send_pieces(Shipment& shipment) {
  std::vector<Communicator::Sent> sent;
  std::vector<Communicator::Received> received;
  const Span mine = piece(shipment, communicator_.rank());
  shipment.received.resize(subtrees_.size());
  for (Index rank = 0; rank < communicator_.size(); ++rank) {
    if (rank == communicator_.rank()) continue;
    for (std::size_t i = 0; i < subtrees_[communicator_.rank()].size(); ++i)
      sent.push_back({rank, bytes_of(std::as_const(sums_[i].numbers), piece(shipment, rank))});
    for (std::size_t i = 0; i < subtrees_[rank].size(); ++i)
      shipment.received[rank].emplace_back(mine.second - mine.first);
    for (std::vector<Number>& numbers : shipment.received[rank])
      received.push_back({rank, bytes_of(numbers, {0, numbers.size()})});
  }
  shipment.pieces = communicator_.start(shipment.tag, sent, received);
}

// My piece of the sum over a subtree.
template <class Number>
std::vector<Number> ShardSum<Number>::added(const Shipment& shipment, const Shards& tree) const {
  for (std::size_t rank = 0; rank < subtrees_.size(); ++rank) {
    const auto found = std::find(subtrees_[rank].begin(), subtrees_[rank].end(), tree);
    if (found == subtrees_[rank].end()) continue;
    const std::size_t i = found - subtrees_[rank].begin();
    if (static_cast<Index>(rank) != communicator_.rank()) return shipment.received[rank][i];
    const auto [begin, end] = piece(shipment, communicator_.rank());
    return {sums_[i].numbers.begin() + begin, sums_[i].numbers.begin() + end};
  }
  std::vector<Number> sum = added(shipment, tree.left());
  const std::vector<Number> right = added(shipment, tree.right());
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += right[i];
  return sum;
}

template <class Number>
void ShardSum<Number>::send_sums(Shipment& shipment) {
  const Span mine = piece(shipment, communicator_.rank());
  const std::vector<Number> sum = added(shipment, all_);
  std::copy(sum.begin(), sum.end(), result_.begin() + mine.first);
  std::vector<Communicator::Sent> sent;
  std::vector<Communicator::Received> received;
  for (Index rank = 0; rank < communicator_.size(); ++rank) {
    if (rank == communicator_.rank()) continue;
    sent.push_back({rank, bytes_of(std::as_const(result_), mine)});
    received.push_back({rank, bytes_of(result_, piece(shipment, rank))});
  }
  shipment.sums = communicator_.start(shipment.tag + 1, sent, received);
}

template <class Number>
void ShardSum<Number>::advance() {
  for (Shipment& shipment : shipments_)
    if (shipment.sums)
      shipment.sums->done();
    else if (shipment.pieces->done())
      send_sums(shipment);
}

template <class Number>
const std::vector<Number>& ShardSum<Number>::wait() {
  for (Shipment& shipment : shipments_)
    if (!shipment.sums) {
      shipment.pieces->wait();
      send_sums(shipment);
    }
  for (Shipment& shipment : shipments_) shipment.sums->wait();
  return result_;
}

template class ShardSum<float>;
template class ShardSum<double>;

}  // namespace tapegrad::TAPEGRAD_SCALAR
