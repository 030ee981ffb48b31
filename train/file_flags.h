#pragma once

#include <string>

#include "tapegrad/train/flags.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Whether two names refer to the same file, which need not exist yet.
/// Example: `same_file("log", "./log")`
bool same_file(const std::string& a, const std::string& b);

/// Whether a file has anything to lose, unlike one that mktemp has made.
/// Example: `holds_something("net.checkpoint")`
bool holds_something(const std::string& path);

/// Checks --resume and --save before a run begins. Throws FlagError if --resume
/// names a pipe, and if --save names a non-empty file that is not the one to resume.
/// Example: `check_file_flags(flags)`
void check_file_flags(const Flags& flags);

}  // namespace tapegrad::TAPEGRAD_SCALAR
