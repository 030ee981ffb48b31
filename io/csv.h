#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The words of columns of text, by the column's name: word i has the number i.
/// Example: `const CsvWords words{{"size", {"small", "large"}}}`
using CsvWords = std::map<std::string, std::vector<std::string>>;

struct CsvOptions {
  bool header = false;   ///< the first line has the names of the columns
  char separator = ',';  ///< of the fields of a line; no quote and no line end
  bool missing = false;  ///< empty fields are NaN, except in columns of text
  CsvWords words = {};   ///< columns of text; one without words takes them from the file
};

/// Example: `const CsvTable table = read_csv("table.csv", {.header = true}); table.names[0]`
struct CsvTable {
  Tensor values;                   ///< (rows, columns)
  std::vector<std::string> names;  ///< of the columns; empty without a header
  CsvWords words;                  ///< with the numbers that `values` has for them
};

/// Reads a table separated by commas, plain or gzipped (RFC 4180).
///
///     const CsvTable table = read_csv("wine.csv", {.header = true, .separator = ';'});
///
/// Numbers are decimal, such as -1, +0.5 or 2e-3; nan, inf and -inf are read in any case. They are
/// rounded to `real`. Blanks around a field are skipped, and so are a byte order mark and blank
/// lines at the end. Any field may be quoted. Lines end with \n or \r\n; the last one need not.
/// Several threads read a long table that has neither quotes nor columns of text.
///
/// A column of text becomes numbers: each word, also an empty one, has a number, in the order in
/// which words appear, or in the order given. Keep them, such as in the notes of a checkpoint, to
/// read other files by them:
///
///     const CsvTable table = read_csv("train.csv", {.header = true, .words = {{"color", {}}}});
///     const CsvTable test = read_csv("test.csv", {.header = true, .words = table.words});
///
/// Throws DataError, naming file and line, for a file without lines, for lines of different numbers
/// of fields, blank ones among them, for an empty field that should be a number and may not be
/// `missing`, for one that is no number or none of the given words, for a number out of range and
/// for a quoted field that does not end; for a column of text that the header does not name;
/// ArgumentError for a separator that cannot be one.
/// Example: `read_csv("table.csv", {.header = true}).values`
CsvTable read_csv(const std::filesystem::path& path, const CsvOptions& options = {});

/// A line of a CSV file. Cells with a comma, a quote or a line end are quoted (RFC 4180).
///
///     text += csv_line(std::vector<std::string>{"wine, red", "7"});  // "wine, red",7
/// Example: `csv_line(std::vector<std::string>{"wine, red", "7"})`
std::string csv_line(std::span<const std::string> cells);

}  // namespace tapegrad::TAPEGRAD_SCALAR
