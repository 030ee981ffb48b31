#pragma once

#include <string>

#include "tapegrad/train/flags.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Refuses bad file names: an empty name is a mistake of the caller's script, and one that begins
/// with "--" is a flag after a forgotten name.
/// Example: `std::string file; flags.setting("--data", file, "Text to learn")->check(file_name())`
CLI::Validator file_name();

/// Whether two names refer to the same file, which need not exist yet.
/// Example: `same_file("log", "./log")`
bool same_file(const std::string& a, const std::string& b);

/// Checks --resume, --save and --log-dir before a training begins. Throws CLI::ValidationError if
/// --resume names a pipe, and if the training would overwrite something by accident: if --save
/// names a non-empty file that is not the one to resume, or if another flag also names a file of
/// the log.
/// Example: `check_file_flags(flags)`
void check_file_flags(const Flags& flags);

}  // namespace tapegrad::TAPEGRAD_SCALAR
