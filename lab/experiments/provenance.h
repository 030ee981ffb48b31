#pragma once

#include <string>

#include "tapegrad/train/flags.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// The seeds that these flags choose: "1", or "1 to 5" with --seeds 5. Empty without a flag --seed.
std::string seeds_of(const Flags& flags);

/// The version that was built, with its commit if it was built in a repository; "dirty" marks files
/// that differed from it.
std::string built_version();

/// The commit, compiler, machine and threads of this program, for the records of its runs.
Json provenance();

/// The processor's model, how many processors there are, and the instruction set in use.
std::string machine();

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
