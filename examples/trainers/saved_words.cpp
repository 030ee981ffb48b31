#include "trainers/saved_words.h"

#include <algorithm>
#include <set>

namespace tapegrad::TAPEGRAD_SCALAR::support {

std::optional<std::vector<std::string>> saved_words(const Json& note) {
  const auto is_text = [](const Json& each) { return each.is_string(); };
  if (!note.is_array() || !std::ranges::all_of(note, is_text)) return {};
  const auto words = note.get<std::vector<std::string>>();
  if (std::set(words.begin(), words.end()).size() != words.size()) return {};
  return words;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
