#include "tapegrad/nn/data/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "tapegrad/core/beginning.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/file.h"
#include "tapegrad/nn/data/internal/csv_fields.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

std::string quoted(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string result = "\"";
  for (const char c : cell) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

real to_number(std::string_view field, const std::string& file, Index line) {
  constexpr const char* blanks = " \t";
  field.remove_prefix(std::min(field.find_first_not_of(blanks), field.size()));
  field = field.substr(0, field.find_last_not_of(blanks) + 1);
  double value = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  const bool with_payload = field.ends_with(')');  // nan(...)
  expect<DataError>(
      error != std::errc::invalid_argument && end == field.data() + field.size() && !with_payload,
      "csv: {}: line {} has a field that is not a number: \"{}\"{}", file, line, beginning(field),
      line == 1 ? "; if it is the name of a column, set `header`" : "");
  const real rounded = static_cast<real>(value);
  expect<DataError>(error == std::errc() && (std::isfinite(rounded) || !std::isfinite(value)),
                    "csv: {}: line {} has a number out of range: {}", file, line, beginning(field));
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
  CsvFields fields(content.text(), options.separator, file);
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

std::string csv_line(std::span<const std::string> cells) {
  std::string line;
  for (const std::string& cell : cells) line += quoted(cell) + ",";
  if (!line.empty()) line.pop_back();
  return line + "\n";
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
