#include "tapegrad/cluster/internal/shard_sum.h"

#include <algorithm>
#include <array>

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

constexpr std::size_t block = 2048;  // numbers that are added while they are in the cache

template <class Number>
void add_to(Number* sum, std::span<const Number> numbers) {
  for (const Number number : numbers) *sum++ += number;
}

}  // namespace

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
    sums_.erase(sums_.end() - static_cast<std::ptrdiff_t>(done.size()), sums_.end());
    if (!done.empty()) sums_.back().shards = done.back();
  }
  sums_.push_back({{shard, shard + 1}, Numbers<Number>(result_.span().size())});
  return sums_.back().numbers.span();
}

template <class Number>
void ShardSum<Number>::ready(std::size_t begin, std::size_t end) {
  const std::size_t last = sums_.size() - 1, count = completed().size();
  for (std::size_t sum = last; sum > last - count; --sum)
    add_to<Number>(sums_[sum - 1].numbers.part(begin, end).data(),
                   sums_[sum].numbers.part(begin, end));
  if (sums_.back().shards.end < own_.end) return;
  const int tag = tag_ + 2 * static_cast<int>(shipments_.size());
  shipments_.push_back({begin, end, tag, {}, nullptr, nullptr});
  send_pieces(shipments_.back());
  advance();
}

template <class Number>
auto ShardSum<Number>::piece(const Shipment& shipment, Index rank) const -> Piece {
  const std::size_t count = shipment.end - shipment.begin;
  const auto processes = static_cast<std::size_t>(communicator_.size());
  const auto bound = [&](Index of) {
    return shipment.begin + count * static_cast<std::size_t>(of) / processes;
  };
  return {bound(rank), bound(rank + 1)};
}

template <class Number>
void ShardSum<Number>::send_pieces(Shipment& shipment) {
  std::vector<Communicator::Sent> sent;
  std::vector<Communicator::Received> received;
  const Piece mine = piece(shipment, communicator_.rank());
  shipment.received.resize(subtrees_.size());
  for (Index rank = 0; rank < communicator_.size(); ++rank) {
    if (rank == communicator_.rank()) continue;
    const auto [begin, end] = piece(shipment, rank);
    for (const Sum& sum : std::span(sums_).first(subtrees_[communicator_.rank()].size()))
      sent.push_back({rank, std::as_bytes(sum.numbers.part(begin, end))});
    for (std::size_t i = 0; i < subtrees_[rank].size(); ++i) {
      const auto& numbers = shipment.received[rank].emplace_back(mine.end - mine.begin);
      received.push_back({rank, std::as_writable_bytes(numbers.span())});
    }
  }
  shipment.pieces = communicator_.start(shipment.tag, sent, received);
}

// My piece of the sum over a subtree, if a process has sent it or it is my own.
template <class Number>
const Number* ShardSum<Number>::known(const Shipment& shipment, const Shards& tree) const {
  for (std::size_t rank = 0; rank < subtrees_.size(); ++rank) {
    const auto found = std::find(subtrees_[rank].begin(), subtrees_[rank].end(), tree);
    if (found == subtrees_[rank].end()) continue;
    const auto i = static_cast<std::size_t>(found - subtrees_[rank].begin());
    if (static_cast<Index>(rank) != communicator_.rank())
      return shipment.received[rank][i].span().data();
    return sums_[i].numbers.span().data() + piece(shipment, communicator_.rank()).begin;
  }
  return nullptr;
}

// Writes the sum over a subtree of some numbers of my piece.
template <class Number>
void ShardSum<Number>::add(const Shipment& shipment, const Shards& tree, Piece part,
                           Number* sum) const {
  if (const Number* numbers = known(shipment, tree)) {
    std::copy(numbers + part.begin, numbers + part.end, sum);
    return;
  }
  std::array<Number, block> right;
  add(shipment, tree.left(), part, sum);
  add(shipment, tree.right(), part, right.data());
  add_to<Number>(sum, std::span(right).first(part.end - part.begin));
}

template <class Number>
void ShardSum<Number>::send_sums(Shipment& shipment) {
  const Piece mine = piece(shipment, communicator_.rank());
  const std::span<Number> sum = result_.part(mine.begin, mine.end);
  for (std::size_t begin = 0; begin < sum.size(); begin += block)
    add(shipment, all_, {begin, std::min(begin + block, sum.size())}, sum.data() + begin);
  std::vector<Communicator::Sent> sent;
  std::vector<Communicator::Received> received;
  for (Index rank = 0; rank < communicator_.size(); ++rank) {
    if (rank == communicator_.rank()) continue;
    const auto [begin, end] = piece(shipment, rank);
    sent.push_back({rank, std::as_bytes(sum)});
    received.push_back({rank, std::as_writable_bytes(result_.part(begin, end))});
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
std::span<const Number> ShardSum<Number>::wait() {
  for (Shipment& shipment : shipments_)
    if (!shipment.sums) {
      shipment.pieces->wait();
      send_sums(shipment);
    }
  for (Shipment& shipment : shipments_) shipment.sums->wait();
  return result_.span();
}

template class ShardSum<float>;
template class ShardSum<double>;

}  // namespace tapegrad::TAPEGRAD_SCALAR
