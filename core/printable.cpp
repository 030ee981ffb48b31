#include "tapegrad/core/printable.h"

#include <algorithm>

namespace tapegrad::TAPEGRAD_SCALAR {

namespace {

// How many bytes a character of UTF-8 has that begins with this one; 1 for one that begins none.
std::size_t character_size(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0xc2 || byte > 0xf4 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

bool continues(char byte) { return (byte & 0xc0) == 0x80; }

// The character at the beginning of a text that is not empty; a byte that begins none is one.
std::string_view first_character(std::string_view text) {
  const std::string_view first = text.substr(0, character_size(text[0]));
  const bool whole = first.size() == character_size(text[0]);
  return whole && std::all_of(first.begin() + 1, first.end(), continues) ? first
                                                                         : text.substr(0, 1);
}

bool is_control(std::string_view character) {
  const auto last = static_cast<unsigned char>(character.back());
  const bool in_second_set = 0x80 <= last && last < 0xa0;
  return character.size() == 1 ? last < 0x20 || last == 0x7f || in_second_set
                               : character.size() == 2 && character[0] == '\xc2' && in_second_set;
}

std::string without_controls(std::string_view text, std::string_view kept) {
  std::string shown;
  for (std::string_view character; !text.empty(); text.remove_prefix(character.size())) {
    character = first_character(text);
    if (is_control(character) && kept.find(character) == std::string_view::npos)
      shown += '?';
    else
      shown += character;
  }
  return shown;
}

}  // namespace

std::string printable(std::string_view text) { return without_controls(text, ""); }

std::string printable_lines(std::string_view text) { return without_controls(text, "\t\n"); }

std::size_t whole_characters(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0 && continues(text[begin - 1])) --begin;
  if (begin == 0) return text.size();
  const bool cut = text.size() - (begin - 1) < character_size(text[begin - 1]);
  return cut ? begin - 1 : text.size();
}

std::string beginning(std::string_view text) {
  constexpr std::size_t longest = 100;
  if (text.size() <= longest) return printable(text);
  const std::string_view first = text.substr(0, longest);
  return printable(first.substr(0, whole_characters(first))) + "...";
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
