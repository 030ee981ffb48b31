// Where there is no MPI.
#include "tapegrad/cluster/internal/alone.h"

#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR {

bool others_wait() { return false; }

std::unique_ptr<Communicator> make_communicator() {
  expect<Error>(
      !started_together(),
      "cluster: mpirun has started several processes, but tapegrad was built without MPI");
  return std::make_unique<Alone>();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
