#pragma once

#include <string_view>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Makes writing safe to fail. A stream that the program was started without is opened so that
/// writing to it fails; otherwise the next file, such as a checkpoint, would take its place. A pipe
/// that nobody reads fails as well, instead of ending the program.
void prepare_output();

/// Writes to standard error. What cannot be written is dropped: a diagnostic never ends a training.
void write_diagnostic(std::string_view text) noexcept;
/// Writes to standard output at once. The first failure is told on standard error. It ends no
/// training, but the program ends with exit code 1.
void write_result(std::string_view text);
/// Whether write_result has never failed.
bool results_are_written();

}  // namespace tapegrad::TAPEGRAD_SCALAR
