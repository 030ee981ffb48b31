#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tapegrad/core/shape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The fields of a CSV file (RFC 4180), one after another. A byte order mark is skipped.
class CsvFields {
 public:
  /// Refers to the text and to the file's name, which stands in messages.
  CsvFields(std::string_view text, char separator, const std::string& file);

  /// The fields that are left, in pieces of whole lines, of about `bytes` bytes each. One piece if
  /// any is quoted, since it may hold line ends.
  std::vector<CsvFields> pieces(std::size_t bytes) const;
  /// Pieces count lines as if they were the first one, unless they learn how many precede them.
  void follow(Index lines) { next_line_ += lines; }

  bool at_end() const { return at_ == text_.size(); }
  /// Whether the last field was the last of its line.
  bool line_has_ended() const { return line_has_ended_; }
  /// The line of the last field, from 1 on.
  Index line() const { return line_; }

  /// Without quotes; valid until the next call. Throws DataError, naming file and line, for a
  /// quoted field that does not end.
  std::string_view next();

 private:
  std::string_view plain();
  std::string_view quoted();
  void end_field();

  std::string_view text_;
  char separator_;
  const std::string& file_;
  std::size_t at_ = 0;
  Index line_ = 1, next_line_ = 1;
  bool line_has_ended_ = false;
  std::string unquoted_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
