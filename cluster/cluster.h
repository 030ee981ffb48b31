#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tapegrad/core/tape.h"
#include "tapegrad/nn/fields.h"

namespace tapegrad::TAPEGRAD_SCALAR {

class Communicator;

/// Example: `const ClusterOptions options{.shards = 4}`
struct ClusterOptions {
  Index shards = 0;  ///< of each batch; 0: as many as there are processes
};

/// A part of a batch: rows [begin, end) of it.
/// Example: `const Shard second = Cluster({.shards = 2}).shards_of_batch(4).back()`
struct Shard {
  Index index;  ///< in [0, shards)
  Index begin, end;

  Index count() const { return end - begin; }
};

/// Example: `const BatchOptions options{.tape = {.check_finite = true}}`
struct BatchOptions {
  TapeOptions tape = {};             ///< of the tape of each shard
  std::vector<double> numbers = {};  ///< of this process, to be added along with the gradients
};

/// The processes that train one net together, each on its shards of every batch. The result does
/// not depend on their number: sums over shards are added in one order, a binary tree.
///
///     Cluster cluster({.shards = 8});
///     cluster.broadcast(fields(net));
///     const auto [loss, gradients, numbers] =
///         cluster.gradients(fields(net), rows, [&](const Shard& shard) { ... });
///
/// Processes are started together by mpirun or srun (MPI 3.1). A program that was started alone, or
/// built without MPI, is a cluster of one process. All processes call the same members in the same
/// order. A process that ends with an exception, or without destroying its Cluster, ends all
/// others.
/// Example: `Cluster cluster({.shards = 4}); cluster.broadcast(fields(net))`
class Cluster {
 public:
  /// Throws ArgumentError for fewer shards than processes. Among several processes, throws Error
  /// for a second cluster in one of them, and on all of them for different numbers of shards.
  explicit Cluster(ClusterOptions options = {});
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// Whether other processes, started together with this one, wait until it makes its Cluster.
  static bool awaited();

  Index rank() const;  ///< of this process, in [0, size)
  Index size() const;  ///< the number of processes
  Index shards() const { return shards_; }
  /// Process 0 does what is done once: it logs, draws progress, and writes files.
  bool is_first() const { return rank() == 0; }

  /// The shards of this process, for a batch of so many rows. A shard has rows / shards() rows, or
  /// one more. Throws ArgumentError for a negative number of rows.
  std::vector<Shard> shards_of_batch(Index rows) const;

  struct BatchGradients {
    double loss;                    ///< the mean over the rows of the batch
    std::vector<Tensor> gradients;  ///< of that mean, one for each parameter of the net
    std::vector<double> numbers;    ///< the sums of BatchOptions::numbers over the processes
  };
  /// The gradients of the mean loss over a batch, the same on all processes.
  ///   loss(shard): the mean over the rows of a shard, recorded on a tape of its own
  /// Shards without rows do not count. Running statistics of the net are the mean over the shards,
  /// each shard having begun with those before the batch. Gradients of the last shard travel while
  /// its sweep goes on. Throws ArgumentError for a batch without rows.
  BatchGradients gradients(const Fields& net, Index rows,
                           const std::function<Tensor(const Shard& shard)>& loss,
                           const BatchOptions& options = {});

  /// The sums of `values(shard)`, of which there are `count`, over the shards of a batch: such as
  /// the loss and the number of right answers. Shards without rows do not count.
  std::vector<double> sums(Index rows, Index count,
                           const std::function<std::vector<double>(const Shard& shard)>& values);
  /// Whether `here` is true on any process.
  bool any(bool here);

  /// The rows of all processes, by rank. rows: (n, ...), where only n may differ.
  Tensor gather(const Tensor& rows);
  /// The texts of all processes, by rank; together less than 2 GiB.
  std::vector<std::string> gather(const std::string& text);
  /// All processes get the parameters and buffers of process 0.
  void broadcast(const Fields& net);
  /// Throws Error on all processes unless all have the same text, such as their flags. what: names
  /// it in the message
  void expect_same(const std::string& what, const std::string& text);
  /// Waits for all processes.
  void barrier();

 private:
  std::unique_ptr<Communicator> communicator_;
  Index shards_;
  int exceptions_;  // under way when it was made
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
