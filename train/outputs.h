#pragma once

#include <string>

#include "tapegrad/train/flags.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Whether two names stand for the same file, also one that does not exist yet.
bool same_file(const std::string& a, const std::string& b);

/// Looks at --save and --log-dir before a training begins. Throws CLI::ValidationError where it
/// would replace what it has not been told to: --save names a file with something in it that is not
/// the one to resume, or a file of the log is also named by another flag.
void check_outputs(const Flags& flags);

}  // namespace tapegrad::TAPEGRAD_SCALAR
