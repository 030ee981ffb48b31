#include "experiments/run_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

#include "tapegrad/core/error.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/io/file.h"
#include "tapegrad/train/json.h"
#include "tapegrad/train/run_log.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

/// What a run left in its directory.
struct LoggedRun {
  std::string name;
  Json flags;
  std::vector<Json> rows;
  Json summary;  ///< empty if the run has not ended
};

// The last parts of the paths, or the whole paths if these are not distinct.
std::vector<std::string> run_names(const std::vector<std::string>& directories) {
  std::vector<std::string> names;
  for (const std::string& directory : directories) {
    const std::filesystem::path path = std::filesystem::path(directory + "/").parent_path();
    names.push_back(path.filename().string());
  }
  if (std::set(names.begin(), names.end()).size() < names.size()) names = directories;
  for (const std::string& name : names)
    expect<ArgumentError>(std::count(names.begin(), names.end(), name) == 1,
                          "--runs: {} is named twice", name);
  std::transform(names.begin(), names.end(), names.begin(), printable);
  return names;
}

Json object_in(const std::string& path) {
  constexpr int depth = 2;  // values by name, some of them lists
  const std::optional<Json> object = parse_json(read_text(path), depth);
  expect<DataError>(object && object->is_object(), "{}: it is not a file of a trainer", path);
  return *object;
}

LoggedRun read_run(const std::string& directory, const std::string& name) {
  const std::string summary = directory + "/" + summary_file;
  const std::vector<Metrics> rows = logged_rows(directory);
  LoggedRun run{.name = name,
                .flags = object_in(directory + "/" + config_file),
                .rows = std::vector<Json>(rows.begin(), rows.end()),
                .summary = is_there(summary) ? object_in(summary) : Json::object()};
  expect<DataError>(!run.rows.empty(), "{}/{}: it has no rows of a run", directory, rows_file);
  return run;
}

// The names in all objects, in order of first appearance.
std::vector<std::string> names_in(const std::vector<Json>& objects) {
  std::vector<std::string> names;
  for (const Json& object : objects)
    for (const auto& [name, value] : object.items())
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

std::string cell(const Json& object, const std::string& name) {
  if (!object.contains(name)) return "";
  const Json& value = object[name];
  if (value.is_string()) return printable(value.get<std::string>());
  return value.is_number_float() ? fmt::format("{:.6g}", value.get<double>()) : value.dump();
}

// A row for each name in the objects, which are one for each run, and a column for each run.
Table beside_each_other(const std::string& title, const std::string& names,
                        const std::vector<LoggedRun>& runs, const std::vector<Json>& objects) {
  Table table{title, {names}, {}};
  for (const LoggedRun& run : runs) table.columns.push_back(run.name);
  for (const std::string& name : names_in(objects)) {
    std::vector<std::string>& cells = table.rows.emplace_back();
    cells.push_back(printable(name));
    for (const Json& object : objects) cells.push_back(cell(object, name));
  }
  return table;
}

void report_flags(Report& report, const std::vector<LoggedRun>& runs) {
  std::vector<Json> flags;
  for (const LoggedRun& run : runs) flags.push_back(run.flags);
  for (const std::string& name : names_in(flags)) {
    const std::string first = cell(flags.front(), name);
    if (std::all_of(flags.begin(), flags.end(),
                    [&](const Json& each) { return cell(each, name) == first; }))
      for (Json& each : flags) each.erase(name);
  }
  report.table(beside_each_other("Flags in which the runs differ", "flag", runs, flags));
}

// Every run is in every diagram, so that its color is the same in all.
Diagram curve_diagram(const std::vector<LoggedRun>& runs, const std::string& column) {
  std::string title = printable(column);
  std::replace(title.begin(), title.end(), '_', ' ');
  Diagram diagram{title, "optimizer steps", printable(column), {}};
  for (const LoggedRun& run : runs) {
    Series series{run.name, {}};
    for (const Json& row : run.rows)
      if (row.contains(column) && row[column].is_number())
        series.points.emplace_back(row["step"].get<double>(), row[column].get<double>());
    diagram.series.push_back(series);
  }
  return diagram;
}

// A part of the name of a file. Columns are named by programs.
std::string file_part(const std::string& column) {
  std::string part = column;
  std::replace_if(
      part.begin(), part.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return part;
}

void report_curves(Report& report, const std::vector<LoggedRun>& runs) {
  std::vector<Json> rows;
  for (const LoggedRun& run : runs) rows.insert(rows.end(), run.rows.begin(), run.rows.end());
  std::vector<std::string> columns = names_in(rows);
  std::stable_partition(columns.begin(), columns.end(),
                        [](const std::string& column) { return column.ends_with("_loss"); });
  int number = 0;
  for (const std::string& column : columns) {
    if (column == "step" || column == "seconds") continue;
    const Diagram diagram = curve_diagram(runs, column);
    if (std::any_of(diagram.series.begin(), diagram.series.end(),
                    [](const Series& series) { return !series.points.empty(); }))
      report.figure(fmt::format("{}_{}", ++number, file_part(column)), diagram);
  }
}

// The last number in each column and, if the run has ended, the numbers of its summary.
void report_ends(Report& report, const std::vector<LoggedRun>& runs) {
  std::vector<Json> ends;
  for (const LoggedRun& run : runs) {
    Json& end = ends.emplace_back(Json::object());
    std::vector<Json> objects = run.rows;
    objects.push_back(run.summary);
    for (const Json& object : objects)
      for (const auto& [name, value] : object.items())
        if (value.is_number()) end[name] = value;
  }
  report.table(beside_each_other("Where the runs ended", "last value", runs, ends));
}

void report_samples(Report& report, const std::vector<LoggedRun>& runs) {
  std::vector<std::pair<std::string, std::string>> samples;
  for (const LoggedRun& run : runs)
    if (run.summary.contains("sample") && run.summary["sample"].is_string())
      samples.emplace_back(run.name, run.summary["sample"].get<std::string>());
  if (!samples.empty()) report.texts("Samples", samples);
}

}  // namespace

void compare_runs(Report& report, const std::vector<std::string>& directories) {
  const std::vector<std::string> names = run_names(directories);
  std::vector<LoggedRun> runs;
  for (std::size_t i = 0; i < directories.size(); ++i)
    runs.push_back(read_run(directories[i], names[i]));
  report_flags(report, runs);
  report_curves(report, runs);
  report_ends(report, runs);
  report_samples(report, runs);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
