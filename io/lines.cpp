#include "tapegrad/io/lines.h"

#include <algorithm>

#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

template <class Visit>
void each_word(std::string_view line, const Visit& visit) {
  constexpr const char* blanks = " \t\r";
  for (std::size_t begin = line.find_first_not_of(blanks); begin != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(blanks, begin), line.size());
    visit(line.substr(begin, end - begin));
    begin = line.find_first_not_of(blanks, end);
  }
}

}  // namespace

LineReader::LineReader(const std::filesystem::path& path)
    : file_(read_file(path, std::size_t{1} << 30)),
      allowance_(file_, path.string()),
      rest_(file_.text()) {
  while (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);  // byte order marks
}

std::optional<std::string_view> LineReader::next() {
  if (rest_.empty()) return {};
  ++number_;
  const std::size_t end = std::min(rest_.find('\n'), rest_.size());
  std::string_view line = rest_.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  return line;
}

std::vector<std::string> LineReader::words(std::string_view text) {
  std::size_t count = 0;
  each_word(text, [&](std::string_view) { ++count; });
  std::vector<std::string> words;
  words.reserve(count);
  each_word(text, [&](std::string_view word) { keep(memory_of(words.emplace_back(word))); });
  return words;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  each_word(line, [&](std::string_view word) { words.emplace_back(word); });
  return words;
}

std::vector<std::string> read_lines(const std::filesystem::path& path) {
  LineReader reader(path);
  std::vector<std::string> lines;
  while (const auto line = reader.next()) {
    reader.keep(in_growing_vector<std::string> + (built_per_byte - 1) * line->size());
    lines.emplace_back(*line);
  }
  return lines;
}

ParallelLines read_parallel_lines(const std::filesystem::path& source,
                                  const std::filesystem::path& target) {
  ParallelLines lines{read_lines(source), read_lines(target)};
  const std::size_t count = lines.source.size(), other = lines.target.size();
  const auto& [longer, shorter] =
      count > other ? std::pair(source, target) : std::pair(target, source);
  expect<DataError>(count == other, "{}: line {} has no counterpart: {} ends after line {}",
                    longer.string(), std::min(count, other) + 1, shorter.string(),
                    std::min(count, other));
  expect<DataError>(count > 0, "{}: it has no lines", source.string());
  return lines;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
