#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tapegrad/cluster/internal/communicator.h"
#include "tapegrad/cluster/internal/tree.h"
#include "tapegrad/core/internal/storage.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Numbers in memory that the next list can have again, not initialized.
template <class Number>
class Numbers {
 public:
  explicit Numbers(std::size_t size)
      : storage_(Storage::allocate(size * sizeof(Number))), size_(size) {}
  std::span<Number> span() const { return {static_cast<Number*>(storage_.data()), size_}; }
  std::span<Number> part(std::size_t begin, std::size_t end) const {
    return span().subspan(begin, end - begin);
  }

 private:
  Storage storage_;
  std::size_t size_;
};

/// Adds a list of numbers over all shards, in the order of the tree. Each process adds what it can
/// of its own shards. Then each gets its piece of all subtrees, adds the pieces, and sends the sum
/// to all others.
template <class Number>
class ShardSum {
 public:
  /// size: of the list   tag: that of its first messages, which others may share if no sums
  /// overlap; it takes two for each range
  ShardSum(Communicator& communicator, Index shards, std::size_t size, int tag = 0);

  /// The list of the next shard of this process, to be filled with its numbers.
  std::span<Number> next();
  /// The numbers [begin, end) of that shard are final. From the last shard they leave at once, so
  /// all processes name the same ranges in the same order.
  void ready(std::size_t begin, std::size_t end);
  /// Keeps messages moving.
  void advance();
  /// Waits for the sum over all shards.
  std::span<const Number> wait();

 private:
  struct Sum {
    Shards shards;
    Numbers<Number> numbers;
  };
  // Numbers on their way: first the pieces of the subtrees, then the pieces of the sum.
  struct Shipment {
    std::size_t begin, end;
    int tag;
    std::vector<std::vector<Numbers<Number>>> received;  // by process and subtree
    std::unique_ptr<Transfer> pieces, sums;
  };
  // The numbers of a shipment that a process adds for all.
  struct Piece {
    std::size_t begin, end;
  };

  std::vector<Shards> completed() const;
  Piece piece(const Shipment& shipment, Index rank) const;
  void send_pieces(Shipment& shipment);
  void send_sums(Shipment& shipment);
  const Number* known(const Shipment& shipment, const Shards& tree) const;
  void add(const Shipment& shipment, const Shards& tree, Piece part, Number* sum) const;

  Communicator& communicator_;
  int tag_;
  Shards all_, own_;
  std::vector<std::vector<Shards>> subtrees_;  // of each process
  // Of the shards so far, from left to right. While the last one is filled, those that it completes
  // hold the sum for the numbers that are ready.
  std::vector<Sum> sums_;
  std::vector<Shipment> shipments_;
  Numbers<Number> result_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
