#include "data/plain_text.h"

#include "tapegrad/core/printable.h"
#include "tapegrad/train/json.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

std::string readable(const std::string& text) { return valid_utf8(printable(text)); }

std::string lower_case(std::string text) {
  for (char& letter : text)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return text;
}

std::vector<std::string> words_of_sentence(std::string_view text, LineReader* lines) {
  std::vector<std::string> words;
  const std::string lower = lower_case(std::string(text));
  for (const std::string& word : lines ? lines->words(lower) : words_of(lower)) {
    const std::size_t last = word.find_last_not_of(",.;:?!");
    const std::size_t end = last == std::string::npos ? 1 : last + 1;
    words.push_back(word.substr(0, end));
    for (const char mark : word.substr(end)) {
      if (lines) lines->keep(sizeof(std::string));
      words.emplace_back(1, mark);
    }
  }
  return words;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
