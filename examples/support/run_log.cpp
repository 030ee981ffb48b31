#include "support/run_log.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>

#include "support/plot.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/file.h"

namespace tapegrad::support {
namespace {

void write(const std::string& path, const std::string& text) {
  write_file(path, std::as_bytes(std::span(text)));
}

// The names of all values in the rows, in order of first appearance.
std::vector<std::string> columns(const std::vector<Json>& rows) {
  std::vector<std::string> result;
  for (const Json& row : rows)
    for (const auto& [name, value] : row.items())
      if (std::find(result.begin(), result.end(), name) == result.end()) result.push_back(name);
  return result;
}

std::string csv(const std::vector<Json>& rows) {
  const std::vector<std::string> names = columns(rows);
  std::string result = fmt::format("{}\n", fmt::join(names, ","));
  for (const Json& row : rows)
    for (const std::string& name : names)
      result += (row.contains(name) ? row[name].dump() : "") + (name == names.back() ? "\n" : ",");
  return result;
}

std::string json_lines(const std::vector<Json>& rows) {
  std::string result;
  for (const Json& row : rows) result += row.dump() + "\n";
  return result;
}

// The columns that end in `suffix`, over steps.
Diagram diagram(const std::vector<Json>& rows, const std::string& title, const std::string& unit,
                const std::string& suffix) {
  Diagram result{title, "optimizer steps", unit, {}};
  for (const std::string& name : columns(rows)) {
    if (!name.ends_with(suffix)) continue;
    Series series{name.substr(0, name.size() - suffix.size()), {}};
    for (const Json& row : rows)
      if (row.contains(name) && row[name].is_number())
        series.points.emplace_back(row["step"].get<double>(), row[name].get<double>());
    result.series.push_back(series);
  }
  return result;
}

std::string curves(const std::vector<Json>& rows) {
  std::vector<Diagram> diagrams;
  for (const Diagram& each : {diagram(rows, "Loss", "nats", "_loss"),
                              diagram(rows, "Accuracy", "fraction correct", "_accuracy")})
    if (!each.series.empty()) diagrams.push_back(each);
  return svg(diagrams);
}

}  // namespace

double peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

RunLog::RunLog(std::string directory, const Json& configuration, Index steps_done)
    : directory_(std::move(directory)) {
  if (directory_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  expect<DataError>(!error, "{}: cannot make this directory: {}", directory_, error.message());
  write(path("config.json"),
        configuration.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  std::filesystem::remove(path("summary.json"), error);  // not of this run
  std::ifstream earlier(path("metrics.jsonl"));
  for (std::string line; steps_done > 0 && std::getline(earlier, line);) {
    const Json row = Json::parse(line);
    if (row["step"] <= steps_done) rows_.push_back(row);
  }
}

void RunLog::row(const Json& metrics) {
  rows_.push_back(metrics);
  write_rows();
}

void RunLog::write_rows() const {
  if (directory_.empty()) return;
  write(path("metrics.csv"), csv(rows_));
  write(path("metrics.jsonl"), json_lines(rows_));
  write(path("curves.svg"), curves(rows_));
}

void RunLog::summary(const Json& results) const {
  if (!directory_.empty()) write(path("summary.json"), results.dump(2) + "\n");
}

}  // namespace tapegrad::support
