#include "support/plain_text.h"

#include "tapegrad/nn/data/sentences.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

std::string lower_case(std::string text) {
  for (char& letter : text)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return text;
}

std::vector<std::string> words_of_sentence(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string& word : words_of(lower_case(std::string(text)))) {
    const std::size_t last = word.find_last_not_of(",.;:?!");
    const std::size_t end = last == std::string::npos ? 1 : last + 1;
    words.push_back(word.substr(0, end));
    for (const char mark : word.substr(end)) words.emplace_back(1, mark);
  }
  return words;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
