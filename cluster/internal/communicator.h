#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Messages under way. What they send and receive must outlive them.
class Transfer {
 public:
  virtual ~Transfer() = default;
  /// Whether all have been sent and received; keeps them moving.
  virtual bool done() = 0;
};

/// How the processes of a cluster talk to each other. All call the same functions in the same
/// order.
class Communicator {
 public:
  struct Sent {
    Index to;
    std::span<const std::byte> bytes;
  };
  struct Received {
    Index from;
    std::span<std::byte> bytes;
  };

  virtual ~Communicator() = default;
  virtual Index rank() const = 0;
  virtual Index size() const = 0;
  /// Messages between two processes with the same tag arrive in the order in which they were sent.
  virtual std::unique_ptr<Transfer> start(int tag, const std::vector<Sent>& sent,
                                          const std::vector<Received>& received) = 0;
  /// Every process gets the bytes of process 0.
  virtual void broadcast(std::span<std::byte> bytes) = 0;
  /// The texts of all processes, by rank.
  virtual std::vector<std::string> gather(const std::string& text) = 0;
  virtual void barrier() = 0;
  /// This process has failed: once it has ended, all others end as well.
  virtual void abandon() = 0;
};

/// Whether mpirun or srun has started this process as one of several.
bool started_together();

/// Whether this process has not joined yet those that were started together with it.
bool others_wait();

/// The processes that mpirun or srun has started together; a single process if there are none.
/// Throws Error if they were started together but tapegrad was built without MPI.
std::unique_ptr<Communicator> make_communicator();

}  // namespace tapegrad::TAPEGRAD_SCALAR
