#pragma once

#include <string>
#include <string_view>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The text, with each control character replaced by a question mark.
/// Example: `printable("a\tb")`
std::string printable(std::string_view text);

/// The beginning of untrusted text, safe to quote in a message: short and without control
/// characters.
/// Example: `beginning(std::string(1000, 'a'))`
std::string beginning(std::string_view text);

}  // namespace tapegrad::TAPEGRAD_SCALAR
