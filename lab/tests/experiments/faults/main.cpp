// Runs experiments with injected faults. Without arguments, lists the faults, one line for each
// claim that must fail: EXPERIMENT, FAULT and the beginning of CLAIM, with tabs between them.
// Otherwise injected_faults EXPERIMENT FAULT.

#include <fmt/format.h>

#include "fault.h"

using namespace tapegrad::testing;

int main(int argc, char** argv) {
  if (argc < 3) {
    for (const InjectedFault& fault : injected_faults())
      for (const std::string& claim : fault.claims)
        fmt::print("{}\t{}\t{}\n", fault.experiment, fault.name, claim);
    return 0;
  }
  for (const InjectedFault& fault : injected_faults())
    if (fault.experiment == argv[1] && fault.name == argv[2]) return fault.run();
  return 2;
}
