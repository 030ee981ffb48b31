#pragma once

#include <string>

#include "tapegrad/train/flags.h"
#include "tapegrad/train/json.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// The seeds that these flags choose: "1", or "1 to 5" with --seeds 5. Empty without a flag --seed.
std::string seeds_of(const Flags& flags);

/// The commit that was built, with "-dirty" if files differed from it; empty outside a repository.
/// TAPEGRAD_COMMIT in the environment, which tests set, takes its place.
std::string built_commit();

/// Throws DataError unless this program was built from a commit without changes: what is kept of a
/// run must name the code that it was trained with.
void expect_named_commit();

/// The version that was built, with its commit if it was built in a repository; "dirty" marks files
/// that differed from it.
std::string built_version();

/// The commit, compiler, machine and threads of this program, for the records of its runs.
Json provenance();

/// The processor's model, how many processors there are, and the instruction set in use.
std::string machine();

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
