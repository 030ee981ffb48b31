#pragma once

#include <string>
#include <string_view>

#include "tapegrad/train/file_lock.h"
#include "tapegrad/train/flags.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Whether two names refer to the same file, which need not exist yet.
/// Example: `same_file("log", "./log")`
bool same_file(const std::string& a, const std::string& b);

/// Whether a file has anything to lose, unlike one that mktemp has made.
/// Example: `holds_something("net.checkpoint")`
bool holds_something(const std::string& path);

/// The rule for each file and folder whose name a program makes, in a directory that the user
/// names. It is not a link, which may lead anywhere: throws DataError for one.
/// Example: `expect_no_link("log/step_10")`
void expect_no_link(const std::string& path);
/// And such a file holds nothing, or what the program has written there before, which contains
/// `mark`: throws DataError, naming the file, where the program would replace anything else.
/// Example: `expect_own("pages/fork.html", "<p class=")`
void expect_own(const std::string& file, std::string_view mark);
/// Writes a file by this rule. Throws DataError.
/// Example: `write_own("loss.svg", "<svg", "<svg/>")`
void write_own(const std::string& file, std::string_view mark, std::string_view text);

/// Throws FlagError if --save names a non-empty file that is not the one to resume.
/// Example: `expect_replaceable("new.checkpoint", "")`
void expect_replaceable(const std::string& save, const std::string& resume);

/// Checks --resume and --save before a run begins. Throws FlagError if --resume
/// names a pipe, and if --save names a non-empty file that is not the one to resume.
/// Example: `check_file_flags(flags)`
void check_file_flags(const Flags& flags);

/// Takes the directory or file that a flag names for this run alone, until the lock ends: the
/// directory itself, or a file NAME.lock beside the other. Where the system has no locks, does
/// nothing. Throws FlagError while another run has it.
/// Example: `const FileLock mine = claim_output("--save", "net.checkpoint")`
FileLock claim_output(const std::string& flag, const std::string& path);

}  // namespace tapegrad::TAPEGRAD_SCALAR
