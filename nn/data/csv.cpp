#include "tapegrad/nn/data/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "tapegrad/core/error.h"
#include "tapegrad/core/file.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// The fields of a text, one after another.
class FieldReader {
 public:
  FieldReader(std::string_view text, char separator, const std::string& file)
      : text_(text), separator_(separator), file_(file) {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (text.starts_with(byte_order_mark)) text_.remove_prefix(byte_order_mark.size());
  }

  bool at_end() const { return at_ == text_.size(); }
  /// Whether the last field was the last of its line.
  bool line_has_ended() const { return line_has_ended_; }
  /// Of the last field, from 1 on.
  Index line() const { return line_; }

  /// Without quotes; valid until the next call.
  std::string_view next() {
    line_ = next_line_;
    const std::string_view field = text_.substr(at_).starts_with('"') ? quoted() : plain();
    end_field();
    return field;
  }

 private:
  std::string_view plain() {
    const char ends[] = {separator_, '\n'};
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_of(std::string_view(ends, 2), begin), text_.size());
    if (text_.substr(at_).starts_with('\n') && at_ > begin && text_[at_ - 1] == '\r') --at_;
    return text_.substr(begin, at_ - begin);
  }
  std::string_view quoted() {
    unquoted_.clear();
    for (;;) {
      const std::size_t begin = at_ + 1, end = text_.find('"', begin);
      expect<DataError>(end != std::string_view::npos,
                        "csv: {}: line {} has a quoted field without an end", file_, line_);
      unquoted_ += text_.substr(begin, end - begin);
      at_ = end + 1;
      if (!text_.substr(at_).starts_with('"')) break;
      unquoted_ += '"';  // written twice
    }
    next_line_ += std::count(unquoted_.begin(), unquoted_.end(), '\n');
    return unquoted_;
  }
  void end_field() {
    const std::string_view rest = text_.substr(at_);
    line_has_ended_ = !rest.starts_with(separator_);
    if (rest.empty()) return;
    const std::size_t size = rest.starts_with("\r\n") ? 2 : 1;
    expect<DataError>(!line_has_ended_ || rest[size - 1] == '\n',
                      "csv: {}: line {} has characters behind a quoted field", file_, line_);
    at_ += size;
    next_line_ += line_has_ended_;
  }

  std::string_view text_;
  char separator_;
  const std::string& file_;
  std::size_t at_ = 0;
  Index line_ = 1, next_line_ = 1;
  bool line_has_ended_ = false;
  std::string unquoted_;
};

real to_number(std::string_view field, const std::string& file, Index line) {
  constexpr const char* blanks = " \t";
  field.remove_prefix(std::min(field.find_first_not_of(blanks), field.size()));
  field = field.substr(0, field.find_last_not_of(blanks) + 1);
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  const bool with_payload = field.ends_with(')');  // nan(...)
  expect<DataError>(
      error != std::errc::invalid_argument && end == field.data() + field.size() && !with_payload,
      "csv: {}: line {} has a field that is no number: \"{}\"{}", file, line, field.substr(0, 40),
      line == 1 ? "; if it is the name of a column, set `header`" : "");
  const real rounded = static_cast<real>(value);
  expect<DataError>(error == std::errc() && (std::isfinite(rounded) || !std::isfinite(value)),
                    "csv: {}: line {} has a number out of range: {}", file, line,
                    field.substr(0, 40));
  return rounded;
}

}  // namespace

CsvTable read_csv(const std::filesystem::path& path, const CsvOptions& options) {
  expect<ArgumentError>(
      std::string_view("\"\r\n").find(options.separator) == std::string_view::npos,
      "read_csv: a quote or a line end cannot separate fields: character {}",
      static_cast<int>(options.separator));
  const FileBytes content = read_file(path);
  const std::string file = path.string();
  FieldReader fields(content.text(), options.separator, file);
  expect<DataError>(!fields.at_end(), "csv: {}: it has no lines", file);
  CsvTable table;
  if (options.header) {
    do table.names.emplace_back(fields.next());
    while (!fields.line_has_ended());
  }
  std::vector<real> values;
  Index rows = 0, columns = static_cast<Index>(table.names.size());
  for (; !fields.at_end(); ++rows) {
    Index count = 0;
    do {
      const std::string_view field = fields.next();
      values.push_back(to_number(field, file, fields.line()));
      ++count;
    } while (!fields.line_has_ended());
    if (rows == 0 && !options.header) columns = count;
    expect<DataError>(count == columns, "csv: {}: line {} has {} fields, not {}", file,
                      fields.line(), count, columns);
  }
  table.values = Tensor({rows, columns}, values);
  return table;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
