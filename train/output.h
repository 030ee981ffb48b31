#pragma once

#include <string_view>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Lets writes fail safely. If the program was started without a standard stream, opens one to
/// which writing fails. Otherwise the next file opened, such as a checkpoint, would take its place.
/// Writing to a pipe without a reader, or beyond `ulimit -f`, also fails, instead of ending the
/// program.
/// Example: `prepare_output()`
void prepare_output();

/// Writes to standard error. Ignores failures: a diagnostic never ends a run. Where it is a
/// terminal, control characters become question marks, apart from tabs and ends of lines: texts of
/// files and nets may hold what a terminal would obey.
/// Example: `write_diagnostic("the file is old\n")`
void write_diagnostic(std::string_view text) noexcept;
/// Writes without question marks a text that moves the cursor and contains nothing untrusted.
/// Example: `write_on_line("\r50 %")`
void write_on_line(std::string_view text) noexcept;
/// Writes to standard output and flushes it, with question marks as `write_diagnostic`. Reports the
/// first failure on standard error. A failure does not end a run, but the program then exits
/// with code 1.
/// Example: `write_result("accuracy 0.98\n")`
void write_result(std::string_view text);
/// Writes help to standard output. A reader that stops early is not a failure: `--help | head`
/// exits with 0.
/// Example: `write_help("Usage: mnist [FLAGS]\n")`
void write_help(std::string_view text);
/// From now on, write_result writes nothing: another process does.
/// Example: `silence_results()`
void silence_results();
/// Whether write_result and write_help have never failed.
/// Example: `const int code = results_are_written() ? 0 : 1`
bool results_are_written();

}  // namespace tapegrad::TAPEGRAD_SCALAR
