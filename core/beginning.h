#pragma once

#include <string>
#include <string_view>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Text with a question mark in the place of each control character.
std::string printable(std::string_view text);

/// The beginning of what a file or a user says, fit for a message: short and without control
/// characters.
std::string beginning(std::string_view text);

}  // namespace tapegrad::TAPEGRAD_SCALAR
