#pragma once

#include <string>

#include "tapegrad/train/flags.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// For names of files: an empty one is a mistake of the caller's script, one that begins with "--"
/// a flag behind a name that was forgotten.
CLI::Validator file_name();

/// Whether two names stand for the same file, also one that does not exist yet.
bool same_file(const std::string& a, const std::string& b);

/// Looks at --resume, --save and --log-dir before a training begins. Throws CLI::ValidationError
/// for a pipe to resume from, and where the training would replace what it has not been told to:
/// --save names a file with something in it that is not the one to resume, or a file of the log is
/// also named by another flag.
void check_file_flags(const Flags& flags);

}  // namespace tapegrad::TAPEGRAD_SCALAR
