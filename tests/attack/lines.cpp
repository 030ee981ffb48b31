// Lines: they survive writing and reading again, and pairs need a counterpart for each.

#include "tapegrad/io/lines.h"

#include <algorithm>

#include "attack.h"

namespace tapegrad::attack {
namespace {

std::string written(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) (text += line) += "\r\n";
  return text;
}

}  // namespace

void attack(std::string_view input) {
  const File file(input);
  const std::vector<std::string> lines = read_lines(file.path());
  expect_property(
      std::ranges::all_of(
          lines, [](const std::string& line) { return line.find('\n') == std::string::npos; }),
      "a line has no line end");
  const std::string text = written(lines);
  const File again(text);
  expect_property(read_lines(again.path()) == lines, "lines survive writing");

  const File shorter(text), longer(text + "more"), twin(text + "more"), other(text + "more");
  expect_property(refuses([&] { read_parallel_lines(longer.path(), shorter.path()); }),
                  "a line without counterpart is refused");
  const ParallelLines pairs = read_parallel_lines(twin.path(), other.path());
  expect_property(pairs.count() == static_cast<Index>(lines.size()) + 1, "every line has a pair");
  expect_property(pairs.source == pairs.target, "pairs are the lines of both files");
}

}  // namespace tapegrad::attack
