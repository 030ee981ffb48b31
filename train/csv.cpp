#include "tapegrad/train/csv.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

std::string quoted(const std::string& cell) {
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string result = "\"";
  for (const char c : cell) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

}  // namespace

std::string csv_line(std::span<const std::string> cells) {
  std::string line;
  for (const std::string& cell : cells) line += quoted(cell) + ",";
  if (!line.empty()) line.pop_back();
  return line + "\n";
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
