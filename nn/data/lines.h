#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The lines of a file, plain or gzipped, of at most 1 GiB, without their ends: LF or CR LF. Other
/// bytes are kept as they are. Throws DataError as `read_file` does.
/// Example: `const std::vector<std::string> lines = read_lines("input.txt")`
std::vector<std::string> read_lines(const std::filesystem::path& path);

/// The same text in two languages, line by line.
/// Example: `const ParallelLines pairs{.source = {"die Katze"}, .target = {"the cat"}}`
struct ParallelLines {
  std::vector<std::string> source, target;

  Index count() const { return static_cast<Index>(source.size()); }
};

/// Reads two files whose lines with the same number belong together. Throws DataError, naming file
/// and line, if one has a line without counterpart, and if they have no lines.
/// Example: `read_parallel_lines("input.txt", "input.txt").count()`
ParallelLines read_parallel_lines(const std::filesystem::path& source,
                                  const std::filesystem::path& target);

}  // namespace tapegrad::TAPEGRAD_SCALAR
