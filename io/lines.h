#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tapegrad/core/real.h"
#include "tapegrad/io/file.h"
#include "tapegrad/io/internal/honest_size.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The lines of a file, plain or gzipped, of at most 1 GiB, one after another, without their ends:
/// LF or CR LF. Other bytes are kept as they are, but for a byte order mark. A reader that keeps
/// what it finds reports it with `keep`.
/// Example: `LineReader lines("input.txt"); while (const auto line = lines.next()) lines.keep(8)`
class LineReader {
 public:
  /// Throws DataError as `read_file` does.
  explicit LineReader(const std::filesystem::path& path);

  /// The next line, valid as long as the reader lives; nothing at the end.
  std::optional<std::string_view> next();
  /// The number of the last line, from 1 on; 0 before the first.
  Index number() const { return number_; }
  /// `words_of` a text of the file. Each is counted.
  std::vector<std::string> words(std::string_view text);
  /// Counts what is built from the file, in bytes. Throws DataError, naming the file, for more than
  /// 256 MiB and more than 100 times the size of the file as it is stored.
  void keep(std::size_t bytes) { allowance_.take(bytes); }

 private:
  FileBytes file_;
  Allowance allowance_;
  std::string_view rest_;
  Index number_ = 0;
};

/// The words of a line, separated by blanks.
/// Example: `words_of("the dogs run").size()`
std::vector<std::string> words_of(std::string_view line);

/// All lines of a file. What is built from them is counted as 16 bytes for each of theirs. Throws
/// DataError as `LineReader` does.
/// Example: `const std::vector<std::string> lines = read_lines("input.txt")`
std::vector<std::string> read_lines(const std::filesystem::path& path);

/// A text in two languages, line by line.
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
