#include "tapegrad/core/beginning.h"

#include <algorithm>
#include <cctype>

namespace tapegrad::TAPEGRAD_SCALAR {

std::string printable(std::string_view text) {
  std::string shown(text);
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return std::iscntrl(c) != 0; }, '?');
  return shown;
}

std::string beginning(std::string_view text) {
  constexpr std::size_t longest = 100;
  std::size_t end = std::min(longest, text.size());
  while (0 < end && end < text.size() && (text[end] & 0xc0) == 0x80) --end;  // within a character
  return printable(text.substr(0, end)) + (end == text.size() ? "" : "...");
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
