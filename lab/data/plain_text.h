#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tapegrad/io/lines.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// A text from outside as valid UTF-8 without control characters, fit for pages
/// and pictures.
std::string readable(const std::string& text);

/// The letters A to Z in lower case; other bytes are kept as they are.
std::string lower_case(std::string text);

/// The words of a plain sentence in lower case. Marks of punctuation at the end of a word are words
/// of their own.
///   lines: of a file that has the text, where the words are counted
std::vector<std::string> words_of_sentence(std::string_view text, LineReader* lines = nullptr);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
