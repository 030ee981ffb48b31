// Runs experiments with planted errors. Without arguments, lists the errors, one line for each
// claim that must fail: EXPERIMENT, ERROR and the beginning of CLAIM, with tabs between them.
// Otherwise planted_errors EXPERIMENT ERROR.

#include <fmt/format.h>

#include "planted.h"

using namespace tapegrad::testing;

int main(int argc, char** argv) {
  if (argc < 3) {
    for (const PlantedError& error : planted_errors())
      for (const std::string& claim : error.claims)
        fmt::print("{}\t{}\t{}\n", error.experiment, error.name, claim);
    return 0;
  }
  for (const PlantedError& error : planted_errors())
    if (error.experiment == argv[1] && error.name == argv[2]) return error.run();
  return 2;
}
