#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct CsvOptions {
  bool header = false;   ///< the first line has the names of the columns
  char separator = ',';  ///< of the fields of a line; no quote and no line end
};

/// Example: `const CsvTable table = read_csv("table.csv", {.header = true}); table.names[0]`
struct CsvTable {
  Tensor values;                   ///< (rows, columns)
  std::vector<std::string> names;  ///< of the columns; empty without a header
};

/// Reads a file of numbers separated by commas, plain or gzipped (RFC 4180).
///
///     const CsvTable table = read_csv("wine.csv", {.header = true, .separator = ';'});
///
/// Numbers are decimal, such as -1, 0.5 or 2e-3; nan, inf and -inf are read in any case. They are
/// rounded to `real`. Blanks around a number are skipped, and so is a byte order mark. Any field
/// may be quoted. Lines end with \n or \r\n; the last one need not. Throws DataError, naming file
/// and line, for a file without lines, for lines of different numbers of fields, empty ones among
/// them, for a field that is empty or no number, for a number out of range and for a quoted field
/// that does not end; ArgumentError for a separator that cannot be one.
/// Example: `read_csv("table.csv", {.header = true}).values`
CsvTable read_csv(const std::filesystem::path& path, const CsvOptions& options = {});

/// A line of a CSV file. Cells with a comma, a quote or a line end are quoted (RFC 4180).
///
///     text += csv_line(std::vector<std::string>{"wine, red", "7"});  // "wine, red",7
/// Example: `csv_line(std::vector<std::string>{"wine, red", "7"})`
std::string csv_line(std::span<const std::string> cells);

}  // namespace tapegrad::TAPEGRAD_SCALAR
