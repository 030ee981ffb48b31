#include "tapegrad/io/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string_view>

#include "tapegrad/core/error.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/io/file.h"
#include "tapegrad/io/internal/csv_fields.h"
#include "tapegrad/io/internal/honest_size.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

std::string quoted(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string result = "\"";
  for (const char c : cell) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

// Without the blank lines at the end.
std::string_view trimmed(std::string_view text) {
  for (;;)
    if (text.ends_with("\n\n"))
      text.remove_suffix(1);
    else if (text.ends_with("\n\r\n"))
      text.remove_suffix(2);
    else
      return text;
}

std::string_view without_blanks(std::string_view field) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!field.empty() && is_blank(field.front())) field.remove_prefix(1);
  while (!field.empty() && is_blank(field.back())) field.remove_suffix(1);
  return field;
}

std::from_chars_result parse(std::string_view digits, double& value) {
  const char* const end = digits.data() + digits.size();
  const std::from_chars_result found = std::from_chars(digits.data(), end, value);
  if (found.ec != std::errc::result_out_of_range) return found;
  long double wide = 0;  // too small and too large for double differ here
  const std::from_chars_result again = std::from_chars(digits.data(), end, wide);
  value = static_cast<double>(wide);
  return again;
}

// Whether it is inf or nan.
bool is_spelled(std::string_view number) {
  return number.find_first_of("0123456789") == std::string_view::npos;
}

real to_number(std::string_view field, const std::string& file, Index line, Index column) {
  std::string_view digits = field;
  if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
  double value = 0;
  const auto [end, error] = parse(digits, value);
  const bool with_payload = field.ends_with(')');  // nan(...)
  // Not by `expect`, which would be given the beginning of each field, a text made for nothing.
  if (error == std::errc::invalid_argument || end != digits.data() + digits.size() || with_payload)
    throw DataError(fmt::format("csv: {}: line {}: field {} is not a number: \"{}\"{}", file, line,
                                column + 1, beginning(field),
                                line == 1 ? "; if it is the name of a column, set `header`"
                                          : "; if its column is one of text, name it in `words`"));
  const real rounded = static_cast<real>(value);
  if (error != std::errc() || !(std::isfinite(rounded) || is_spelled(digits)))
    throw DataError(fmt::format("csv: {}: line {}: field {} is a number out of range: {}", file,
                                line, column + 1, beginning(field)));
  return rounded;
}

// The values of cells, in columns of numbers or of text.
class Cells {
 public:
  Cells(CsvTable& table, const CsvOptions& options, const std::string& file, Allowance& left)
      : missing_(options.missing), file_(file), left_(left) {
    table.words = options.words;
    for (auto& [name, words] : table.words) {
      const auto found = std::ranges::find(table.names, name);
      expect<DataError>(found != table.names.end(), "csv: {}: its header has no column {}", file,
                        beginning(name));
      Text& text = texts_[static_cast<std::size_t>(found - table.names.begin())];
      text = {.name = &name, .words = &words, .may_grow = words.empty()};
      for (std::size_t i = 0; i < words.size(); ++i)
        text.numbers.emplace(words[i], static_cast<real>(i));
    }
  }

  void expect_room_for(std::size_t numbers) { left_.take(numbers * in_growing_vector<real>); }
  void expect_columns(Index expected, Index found, Index line) const {
    expect<DataError>(found == expected, "csv: {}: line {} has {} fields, not {}", file_, line,
                      found, expected);
  }

  // On several threads at a time, if no column is one of text.
  real number(std::string_view field, Index column, Index line) {
    field = without_blanks(field);
    const auto text = texts_.find(static_cast<std::size_t>(column));
    if (text != texts_.end()) return number(field, text->second, line);
    if (missing_ && field.empty()) return std::numeric_limits<real>::quiet_NaN();
    expect<DataError>(!field.empty(),
                      "csv: {}: line {}: field {} is empty; set `missing` to read it as NaN", file_,
                      line, column + 1);
    return to_number(field, file_, line, column);
  }

 private:
  struct Text {
    const std::string* name;
    std::vector<std::string>* words;
    bool may_grow;
    std::map<std::string, real, std::less<>> numbers = {};
  };

  real number(std::string_view word, Text& text, Index line) {
    if (const auto found = text.numbers.find(word); found != text.numbers.end())
      return found->second;
    if (!text.may_grow)
      throw DataError(fmt::format("csv: {}: line {}: {} is none of the {} words of column {}",
                                  file_, line, beginning(word), text.words->size(),
                                  beginning(*text.name)));
    left_.take(2 * memory_of(text.words->emplace_back(word)));  // it becomes a key as well
    return text.numbers.emplace(word, static_cast<real>(text.numbers.size())).first->second;
  }

  bool missing_;
  const std::string& file_;
  Allowance& left_;
  std::map<std::size_t, Text> texts_;
};

struct TableRows {
  Index columns;  // 0: unknown until the first row is read
  Index count = 0;
  std::vector<real> values = {};
};

TableRows read_rows(CsvFields fields, Index columns, Cells& cells) {
  constexpr std::size_t counted_together = 256;  // since threads share the count
  TableRows rows{columns};
  for (; !fields.at_end(); ++rows.count) {
    Index column = 0;
    do {
      if (rows.values.size() % counted_together == 0) cells.expect_room_for(counted_together);
      const std::string_view field = fields.next();
      rows.values.push_back(cells.number(field, column++, fields.line()));
    } while (!fields.line_has_ended());
    if (rows.columns == 0) rows.columns = column;
    cells.expect_columns(rows.columns, column, fields.line());
  }
  return rows;
}

// On all threads, where a table is long.
std::vector<TableRows> read_pieces(const std::vector<CsvFields>& pieces, Index columns,
                                   Cells& cells) {
  std::vector<TableRows> read(pieces.size(), TableRows{-1});
  parallel_for(std::ssize(pieces), [&](Index i) {
    const auto at = static_cast<std::size_t>(i);
    try {
      read[at] = read_rows(pieces[at], columns, cells);
    } catch (const Error&) {  // it is read again, to learn its line
    }
  });
  columns = std::max(columns, read.front().columns);
  Index lines = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (read[i].columns != columns) {
      CsvFields mistaken = pieces[i];
      mistaken.follow(lines);
      read[i] = read_rows(mistaken, columns, cells);
    }
    lines += read[i].count;
  }
  return read;
}

Tensor joined(const std::vector<TableRows>& pieces) {
  Index count = 0;
  for (const TableRows& rows : pieces) count += rows.count;
  Tensor all = Tensor::uninitialized({count, pieces.front().columns});
  real* out = all.mutable_data();
  for (const TableRows& rows : pieces) out = std::ranges::copy(rows.values, out).out;
  return all;
}

}  // namespace

CsvTable read_csv(const std::filesystem::path& path, const CsvOptions& options) {
  expect<ArgumentError>(
      std::string_view("\"\r\n").find(options.separator) == std::string_view::npos,
      "read_csv: a quote or a line end cannot separate fields: character {}",
      static_cast<int>(options.separator));
  const FileBytes content = read_file(path);
  const std::string file = path.string();
  CsvFields fields(trimmed(content.text()), options.separator, file);
  expect<DataError>(!fields.at_end(), "csv: {}: it has no lines", file);
  CsvTable table;
  if (options.header) {
    do table.names.emplace_back(fields.next());
    while (!fields.line_has_ended());
  }
  Allowance left(content, file);
  Cells cells(table, options, file, left);
  const auto columns = static_cast<Index>(table.names.size());
  // The words of a column of text are numbered in their order.
  const std::vector<CsvFields> pieces =
      options.words.empty() ? fields.pieces(std::size_t{1} << 20) : std::vector{fields};
  table.values = joined(pieces.size() > 1 ? read_pieces(pieces, columns, cells)
                                          : std::vector{read_rows(fields, columns, cells)});
  return table;
}

std::string csv_line(std::span<const std::string> cells) {
  std::string line;
  for (const std::string& cell : cells) line += quoted(cell) + ",";
  if (!line.empty()) line.pop_back();
  return line + "\n";
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
