#include "tapegrad/cluster/internal/all_reduce.h"

#include <algorithm>
#include <array>
#include <bit>

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

constexpr Index block = 2048;  // numbers that are added while they are in the cache

bool is_power_of_two(Index n) { return std::has_single_bit(static_cast<std::uint64_t>(n)); }

}  // namespace

bool adds_in_pairs(Index processes, Index shards) {
  return processes == 1 || (is_power_of_two(processes) && is_power_of_two(shards));
}

template <class Number>
Halving<Number>::Halving(Communicator& communicator, std::span<Number> numbers, int tag)
    : communicator_(communicator),
      tag_(tag),
      levels_(std::bit_width(static_cast<std::uint64_t>(communicator.size())) - 1),
      received_(levels_ == 0 ? 0 : (numbers.size() + 1) / 2) {
  if (levels_ > 0) messages_ = exchange_halves(numbers);
}

template <class Number>
std::unique_ptr<Transfer> Halving<Number>::next_step() {
  ++steps_;
  if (steps_ <= levels_) {
    const std::span<Number> own = halves_.back().own;
    add_to<Number>(own, received_.part(0, own.size()));
    if (steps_ < levels_) return exchange_halves(own);
  }
  return steps_ < 2 * levels_ ? gather_halves(2 * levels_ - 1 - steps_) : nullptr;
}

// The left process of a pair adds the left half.
template <class Number>
std::unique_ptr<Transfer> Halving<Number>::exchange_halves(std::span<Number> numbers) {
  const Index distance = Index{1} << halves_.size();
  const auto left = numbers.first(numbers.size() / 2), right = numbers.subspan(left.size());
  const bool is_left = (communicator_.rank() & distance) == 0;
  halves_.push_back(is_left ? Halves{left, right} : Halves{right, left});
  const auto& [own, other] = halves_.back();
  const Index neighbour = communicator_.rank() ^ distance;
  return communicator_.start(tag_, {{neighbour, std::as_bytes(other)}},
                             {{neighbour, std::as_writable_bytes(received_.part(0, own.size()))}});
}

template <class Number>
std::unique_ptr<Transfer> Halving<Number>::gather_halves(std::size_t level) {
  const auto& [own, other] = halves_[level];
  const Index neighbour = communicator_.rank() ^ (Index{1} << level);
  return communicator_.start(tag_, {{neighbour, std::as_bytes(own)}},
                             {{neighbour, std::as_writable_bytes(other)}});
}

template <class Number>
Exchange<Number>::Exchange(Communicator& communicator, Shards all,
                           const std::vector<std::vector<Shards>>& subtrees,
                           std::vector<std::span<Number>> numbers, int tag)
    : communicator_(communicator),
      all_(all),
      subtrees_(subtrees),
      numbers_(std::move(numbers)),
      tag_(tag),
      received_(subtrees.size()) {
  messages_ = exchange_pieces();
}

template <class Number>
std::unique_ptr<Transfer> Exchange<Number>::next_step() {
  if (added_) return nullptr;
  added_ = true;
  return gather_sums();
}

// The numbers that a process adds for all.
template <class Number>
std::span<Number> Exchange<Number>::piece(std::span<Number> numbers, Index rank) const {
  const auto bound = [&](Index of) {
    return numbers.size() * static_cast<std::size_t>(of) /
           static_cast<std::size_t>(communicator_.size());
  };
  return numbers.subspan(bound(rank), bound(rank + 1) - bound(rank));
}

template <class Number>
std::unique_ptr<Transfer> Exchange<Number>::exchange_pieces() {
  std::vector<Communicator::Sent> sent;
  std::vector<Communicator::Received> received;
  const std::size_t mine = piece(numbers_[0], communicator_.rank()).size();
  for (Index rank = 0; rank < communicator_.size(); ++rank) {
    if (rank == communicator_.rank()) continue;
    for (const std::span<Number> numbers : numbers_)
      sent.push_back({rank, std::as_bytes(piece(numbers, rank))});
    for (std::size_t i = 0; i < subtrees_[rank].size(); ++i)
      received.push_back({rank, std::as_writable_bytes(received_[rank].emplace_back(mine).span())});
  }
  return communicator_.start(tag_, sent, received);
}

// My piece of the sum over a subtree, if a process has sent it or it is my own.
template <class Number>
std::span<const Number> Exchange<Number>::known(const Shards& tree) const {
  for (std::size_t rank = 0; rank < subtrees_.size(); ++rank) {
    const auto found = std::find(subtrees_[rank].begin(), subtrees_[rank].end(), tree);
    if (found == subtrees_[rank].end()) continue;
    const auto i = static_cast<std::size_t>(found - subtrees_[rank].begin());
    if (static_cast<Index>(rank) != communicator_.rank()) return received_[rank][i].span();
    return piece(numbers_[i], communicator_.rank());
  }
  return {};
}

// Writes the sum over a subtree of the numbers of my piece from `begin` on.
template <class Number>
void Exchange<Number>::add(const Shards& tree, std::size_t begin, std::span<Number> sum) const {
  if (const auto numbers = known(tree); !numbers.empty()) {
    std::ranges::copy(numbers.subspan(begin, sum.size()), sum.begin());
    return;
  }
  std::array<Number, block> right;
  const auto right_sum = std::span(right).first(sum.size());
  add(tree.left(), begin, sum);
  add(tree.right(), begin, right_sum);
  add_to<Number>(sum, right_sum);
}

template <class Number>
std::unique_ptr<Transfer> Exchange<Number>::gather_sums() {
  const std::span<Number> mine = piece(numbers_[0], communicator_.rank());
  parallel_ranges(std::ssize(mine), block, [&](Index begin, Index end) {
    std::array<Number, block> sum;
    const auto part = std::span(sum).first(end - begin);
    add(all_, begin, part);
    std::ranges::copy(part, mine.begin() + begin);
  });
  std::vector<Communicator::Sent> sent;
  std::vector<Communicator::Received> received;
  for (Index rank = 0; rank < communicator_.size(); ++rank) {
    if (rank == communicator_.rank()) continue;
    sent.push_back({rank, std::as_bytes(mine)});
    received.push_back({rank, std::as_writable_bytes(piece(numbers_[0], rank))});
  }
  return communicator_.start(tag_, sent, received);
}

template class Halving<float>;
template class Halving<double>;
template class Exchange<float>;
template class Exchange<double>;

}  // namespace tapegrad::TAPEGRAD_SCALAR
