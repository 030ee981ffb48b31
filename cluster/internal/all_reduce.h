#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tapegrad/cluster/internal/communicator.h"
#include "tapegrad/cluster/internal/numbers.h"
#include "tapegrad/cluster/internal/tree.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A sum of numbers over all processes, which every process receives. It goes in steps: in each, a
/// process sends and receives messages, and adds what has arrived.
class AllReduce {
 public:
  virtual ~AllReduce() = default;
  /// Keeps messages moving, and begins the steps whose turn it is. Whether it has ended.
  bool advance() {
    while (messages_ != nullptr && messages_->done()) messages_ = next_step();
    return messages_ == nullptr;
  }

 protected:
  AllReduce() = default;
  /// Adds what the last step has received, and begins the next one; null after the last one.
  virtual std::unique_ptr<Transfer> next_step() = 0;

  std::unique_ptr<Transfer> messages_;  // of this step
};

/// Whether the processes can add by Halving: in pairs, then in pairs of pairs, as the tree does.
/// With other numbers, a process has several subtrees, or neighbours in the tree have different
/// numbers of processes.
bool adds_in_pairs(Index processes, Index shards);

/// Recursive halving and doubling. Neighbours in the tree exchange halves, and each adds its half;
/// then neighbours of pairs exchange halves of that, and so on. The way back gathers the sums. Each
/// process sends 2 log2(P) messages, and about 2 N numbers in all.
/// Source: Thakur, Rabenseifner and Gropp, "Optimization of Collective Communication Operations in
/// MPICH" (2005), with the nearest neighbours first.
template <class Number>
class Halving final : public AllReduce {
 public:
  /// numbers: of the subtree of this process; in the end, the sum
  Halving(Communicator& communicator, std::span<Number> numbers, int tag);

 private:
  struct Halves {
    std::span<Number> own, other;  // this process adds its own
  };
  std::unique_ptr<Transfer> next_step() override;
  std::unique_ptr<Transfer> exchange_halves(std::span<Number> numbers);
  std::unique_ptr<Transfer> gather_halves(std::size_t level);

  Communicator& communicator_;
  int tag_;
  std::size_t levels_;          // of pairs
  std::size_t steps_ = 0;       // so far
  std::vector<Halves> halves_;  // by level
  Numbers<Number> received_;
};

/// For any number of processes. Each receives its piece of all subtrees, adds the pieces in the
/// order of the tree, and sends the sum to all others. Each process sends 2 (P - 1) messages, and
/// about 2 N numbers in all if every process has one subtree.
template <class Number>
class Exchange final : public AllReduce {
 public:
  /// subtrees: of each process   numbers: of each subtree of this process; in the end, the first
  /// are the sum
  Exchange(Communicator& communicator, Shards all, const std::vector<std::vector<Shards>>& subtrees,
           std::vector<std::span<Number>> numbers, int tag);

 private:
  std::unique_ptr<Transfer> next_step() override;
  std::unique_ptr<Transfer> exchange_pieces();
  std::unique_ptr<Transfer> gather_sums();
  std::span<Number> piece(std::span<Number> numbers, Index rank) const;
  std::span<const Number> known(const Shards& tree) const;
  void add(const Shards& tree, std::size_t begin, std::span<Number> sum) const;

  Communicator& communicator_;
  Shards all_;
  const std::vector<std::vector<Shards>>& subtrees_;
  std::vector<std::span<Number>> numbers_;
  int tag_;
  std::vector<std::vector<Numbers<Number>>> received_;  // my piece, by process and subtree
  bool added_ = false;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
