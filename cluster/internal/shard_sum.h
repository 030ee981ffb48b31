#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tapegrad/cluster/internal/all_reduce.h"
#include "tapegrad/cluster/internal/communicator.h"
#include "tapegrad/cluster/internal/numbers.h"
#include "tapegrad/cluster/internal/tree.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Adds a list of numbers over all shards, in the order of the tree. Each process adds what it can
/// of its own shards; an AllReduce adds the rest.
template <class Number>
class ShardSum {
 public:
  /// size: of the list   tag: of its first messages, which others may share if no sums overlap; it
  /// takes one for each range
  ShardSum(Communicator& communicator, Index shards, std::size_t size, int tag = 0);
  ShardSum(const ShardSum&) = delete;  // what is under way refers to it
  ShardSum& operator=(const ShardSum&) = delete;

  /// The list of the next shard of this process, to be filled with its numbers.
  std::span<Number> next();
  /// The numbers [begin, end) of that shard are final. From the last shard they leave at once, so
  /// all processes name the same ranges in the same order.
  void ready(std::size_t begin, std::size_t end);
  /// Keeps messages moving. Whether all ranges that were ready have arrived.
  bool advance();
  /// Waits for the sum over all shards.
  std::span<const Number> wait();

 private:
  struct Sum {
    Shards shards;
    Numbers<Number> numbers;
  };

  std::vector<Shards> completed() const;
  std::unique_ptr<AllReduce> all_reduce(std::size_t begin, std::size_t end) const;

  Communicator& communicator_;
  int tag_;
  Shards all_, own_;
  std::size_t size_;
  std::vector<std::vector<Shards>> subtrees_;  // of each process
  // Sums of the shards so far, from left to right. While the last one is filled, the sums that it
  // completes hold the numbers that are ready. In the end, the first one is the sum over all.
  std::vector<Sum> sums_;
  std::vector<std::unique_ptr<AllReduce>> ranges_;  // that have left
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
