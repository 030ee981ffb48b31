#pragma once

#include <string>
#include <string_view>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The text, with each control character replaced by a question mark, whether it is ASCII, UTF-8
/// (U+0080 to U+009F) or a byte in that range that is not valid UTF-8.
/// Example: `printable("a\tb")`
std::string printable(std::string_view text);
/// Does the same, but keeps tabs and ends of lines.
/// Example: `printable_lines("a\tb\n")`
std::string printable_lines(std::string_view text);

/// The number of bytes of a text that are whole characters of UTF-8. The bytes of a last character
/// that is cut do not count.
/// Example: `whole_characters("a\xc3")`
std::size_t whole_characters(std::string_view text);

/// The beginning of untrusted text, safe to quote in a message: short and without control
/// characters.
/// Example: `beginning(std::string(1000, 'a'))`
std::string beginning(std::string_view text);

}  // namespace tapegrad::TAPEGRAD_SCALAR
