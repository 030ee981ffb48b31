#pragma once

#include <string>
#include <string_view>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The text, with each control character replaced by a question mark.
std::string printable(std::string_view text);

/// The beginning of untrusted text, safe to quote in a message: short and without control
/// characters.
std::string beginning(std::string_view text);

}  // namespace tapegrad::TAPEGRAD_SCALAR
