#include "tapegrad/cluster/internal/communicator.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace tapegrad::TAPEGRAD_SCALAR {

bool started_together() {
  // Set by Open MPI, by launchers with PMIx and by those with PMI (MPICH, Slurm).
  const char* names[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"};
  return std::any_of(std::begin(names), std::end(names),
                     [](const char* name) { return std::getenv(name) != nullptr; });
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
