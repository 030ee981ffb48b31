#pragma once

#include <regex>
#include <string>
#include <vector>

namespace tapegrad::testing {

/// What an expression's group finds everywhere in a text.
inline std::vector<std::string> find_all(const std::string& text, const std::string& expression) {
  const std::regex regex(expression);
  std::vector<std::string> found;
  for (std::sregex_iterator i(text.begin(), text.end(), regex), end; i != end; ++i)
    found.push_back((*i)[1]);
  return found;
}

/// How often a text has a part.
inline std::size_t count(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++times;
  return times;
}

}  // namespace tapegrad::testing
