#include "tapegrad/nn/data/lines.h"

#include <algorithm>

#include "tapegrad/core/error.h"
#include "tapegrad/core/file.h"

namespace tapegrad::TAPEGRAD_SCALAR {

std::vector<std::string> read_lines(const std::filesystem::path& path) {
  const FileBytes file = read_file(path, std::size_t{1} << 30);
  std::string_view text = file.text();
  while (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // byte order marks
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
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
