#include "tapegrad/train/run_log.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>
#include <sstream>

#include "tapegrad/core/error.h"
#include "tapegrad/core/file.h"
#include "tapegrad/train/output.h"
#include "tapegrad/train/plot.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

constexpr const char* config_file = "config.json";
constexpr const char* table_file = "metrics.csv";
constexpr const char* rows_file = "metrics.jsonl";
constexpr const char* curves_file = "curves.svg";
constexpr const char* summary_file = "summary.json";
constexpr const char* seed_prefix = "seed_";

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

// What a run leaves, but for its configuration and what it leaves for each of several seeds.
void remove_results(const std::filesystem::path& directory) {
  std::error_code failure;  // of no matter: what cannot be removed cannot be replaced either
  for (const char* file :
       {table_file, rows_file, curves_file, summary_file, probe_norms_file, probe_weights_file})
    std::filesystem::remove(directory / file, failure);
}

void remove_seeds(const std::filesystem::path& directory) {
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(directory, failure)) {
    if (!entry.path().filename().string().starts_with(seed_prefix)) continue;
    remove_results(entry.path());
    std::filesystem::remove(entry.path() / config_file, failure);
    std::filesystem::remove(entry.path(), failure);  // unless something else lies there
  }
}

// A row as RunLog writes them: a step, and numbers by name; what is not finite is null.
bool is_row(const Json& value) {
  return value.is_object() && value.contains("step") && value["step"].is_number_unsigned() &&
         std::all_of(value.begin(), value.end(),
                     [](const Json& each) { return each.is_number() || each.is_null(); });
}

// The rows of an earlier run up to a step.
std::vector<Json> read_rows(const std::string& path, Index last_step) {
  constexpr std::size_t most_columns = 100;  // of all rows
  std::vector<Json> rows;
  if (!std::filesystem::exists(path)) return rows;
  std::set<std::string> names;
  std::istringstream lines(read_text(path));
  std::string line;
  for (Index number = 1; std::getline(lines, line); ++number) {
    const std::optional<Json> row = parse_json(line, 1);
    if (!row && lines.eof()) {
      write_diagnostic(fmt::format("{}: drops line {}, which was cut short\n", path, number));
      break;
    }
    expect<DataError>(row && is_row(*row),
                      "{}: line {} is no row of a run; remove it, or choose another --log-dir",
                      path, number);
    for (const auto& [name, value] : row->items()) names.insert(name);
    expect<DataError>(names.size() <= most_columns, "{}: line {}: more than {} columns", path,
                      number, most_columns);
    if ((*row)["step"] <= last_step) rows.push_back(*row);
  }
  return rows;
}

}  // namespace

std::string seed_directory(const std::string& directory, std::uint64_t seed) {
  return fmt::format("{}/{}{}", directory, seed_prefix, seed);
}

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
  write(path(config_file),
        configuration.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  if (steps_done == 0) {
    remove_results(directory_);
    remove_seeds(directory_);
    return;
  }
  std::filesystem::remove(path(summary_file), error);
  rows_ = read_rows(path(rows_file), steps_done);
  if (rows_.empty()) return;
  write_rows();
  if (const Json& last = rows_.back(); last.contains("seconds") && last["seconds"].is_number())
    seconds_before_ = last["seconds"];
}

void RunLog::row(const Json& metrics) {
  rows_.push_back(metrics);
  write_rows();
}

void RunLog::write_rows() const {
  if (directory_.empty()) return;
  write(path(table_file), csv(rows_));
  write(path(rows_file), json_lines(rows_));
  write(path(curves_file), curves(rows_));
}

void RunLog::summary(const Json& results) const {
  if (!directory_.empty()) write(path(summary_file), results.dump(2) + "\n");
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
