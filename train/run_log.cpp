#include "tapegrad/train/run_log.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <sstream>

#include "tapegrad/core/error.h"
#include "tapegrad/io/csv.h"
#include "tapegrad/io/file.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/file_flags.h"
#include "tapegrad/train/json.h"
#include "tapegrad/train/output.h"
#include "tapegrad/train/plot.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

constexpr const char* table_file = "metrics.csv";
constexpr const char* curves_file = "curves.svg";
constexpr const char* fork_file = "fork.svg";
constexpr const char *seed_prefix = "seed_", *step_prefix = "step_";
constexpr const char* checkpoint_file = "state.checkpoint";
// What runs write to the directory of a step, and what each of these files contains.
constexpr std::pair<const char*, const char*> marks_of_step[] = {
    {checkpoint_file, "tapegrad.checksum"},
    {tape_file, tape_mark},
    {trace_file, "tapegrad.checksum"},
    {batch_file, "tapegrad.checksum"},
    {probe_norms_file, "step,"},
    {probe_weights_file, "step,"}};
// The entry of a configuration by which a log is known from other files.
constexpr const char* mark = "tapegrad";

void write(const std::string& path, const std::string& text) {
  write_file(path, std::as_bytes(std::span(text)));
}

// Names of files and generated texts may hold bytes that are not valid UTF-8.
std::string text_of(const Json& object) {
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string marked(Json configuration) {
  configuration[mark] = TAPEGRAD_VERSION;
  return text_of(configuration);
}

std::vector<Json> as_json(const std::vector<Metrics>& rows) {
  return std::vector<Json>(rows.begin(), rows.end());
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
  std::string result = csv_line(names);
  for (const Json& row : rows) {
    std::vector<std::string> cells;
    for (const std::string& name : names) {
      if (!row.contains(name))
        cells.emplace_back();
      else
        cells.push_back(row[name].is_string() ? row[name].get<std::string>() : row[name].dump());
    }
    result += csv_line(cells);
  }
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

std::vector<Diagram> curves(const std::vector<Json>& rows) {
  std::vector<Diagram> diagrams;
  for (const Diagram& each : {diagram(rows, "Loss", "nats", "_loss"),
                              diagram(rows, "Accuracy", "fraction correct", "_accuracy")})
    if (!each.series.empty()) diagrams.push_back(each);
  return diagrams;
}

// The curves of a fork, from where it begins, beside the curves of the run that it forks. Of one
// that diverged, what would hide the rest is left out.
std::vector<Diagram> curves_of_fork(const std::vector<Json>& rows,
                                    const std::vector<Json>& original, Index step) {
  std::vector<Json> own = rows;
  std::erase_if(own, [&](const Json& row) { return row["step"] < step; });
  std::vector<Diagram> diagrams = curves(original);
  const std::vector<Diagram> of_fork = curves(own);
  for (Diagram& each : diagrams) {
    for (Series& series : each.series) {
      series.name += ", original";
      if (series.points.empty()) continue;
      const double limit = 10 * std::max(1.0, std::abs(series.points.front().second));
      std::erase_if(series.points, [&](const auto& point) { return point.second > limit; });
    }
    for (const Diagram& other : of_fork)
      if (other.title == each.title)
        each.series.insert(each.series.end(), other.series.begin(), other.series.end());
    each.x_mark = static_cast<double>(step);
    each.caption = fmt::format(
        "Before and after the fork at step {}. Above ten times its beginning, the "
        "original is not shown.",
        step);
  }
  return diagrams;
}

std::string text_if_exists(const std::string& path) {
  std::error_code failure;  // where the file cannot be, others report it better
  return std::filesystem::exists(path, failure) ? read_text(path) : "";
}

// Keeps a symlink, so that the next write goes to its target.
void remove_file(const std::filesystem::path& file) {
  std::error_code failure;  // ignored: a file that cannot be removed cannot be replaced either
  const std::filesystem::path target = std::filesystem::canonical(file, failure);
  if (!failure) std::filesystem::remove(target, failure);
}

// Removes a run's files, except those for each of several seeds.
void remove_log(const std::string& directory) {
  for (const std::string& file : log_files(directory)) remove_file(file);
}

// The directories with a number after `prefix`, by it. Links are none: they may lead anywhere.
std::map<std::uint64_t, std::string> numbered_in(const std::string& directory, const char* prefix) {
  std::map<std::uint64_t, std::string> found;
  std::error_code failure;  // ignored: a directory that cannot be read has none for us
  for (std::filesystem::directory_iterator entry(directory, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix) || entry->is_symlink(failure)) continue;
    if (const auto number = whole_number<std::uint64_t>(name.substr(std::strlen(prefix))))
      found[*number] = entry->path().string();
  }
  return found;
}

// Removes what is kept of the steps after `last`.
void remove_steps(const std::string& directory, std::uint64_t last) {
  std::error_code failure;
  for (const auto& [number, step] : numbered_in(directory, step_prefix)) {
    if (number <= last) continue;
    for (const std::string& file : files_of_step(step)) remove_file(file);
    std::filesystem::remove(step, failure);  // fails if something else is there
  }
}

void remove_seeds(const std::string& directory) {
  std::error_code failure;
  for (const auto& [number, seed] : numbered_in(directory, seed_prefix)) {
    remove_steps(seed, 0);
    remove_log(seed);
    std::filesystem::remove(seed, failure);  // fails if something else is there
  }
}

// Throws DataError for files with the names of a log in a directory without the configuration of a
// run, which earlier versions did not mark, and for steps after `last` that no run wrote.
void expect_own_log(const std::string& directory, std::uint64_t last) {
  for (const auto& [number, step] : numbered_in(directory, step_prefix))
    if (number > last) expect_own_step(step);
  constexpr int depth = 2;  // flags, some of them with lists
  const std::string path = fmt::format("{}/{}", directory, config_file);
  const std::optional<Json> found = parse_json(text_if_exists(path), depth);
  if (found && found->is_object() && (found->contains(mark) || found->contains("log-dir"))) return;
  std::vector<std::string> files = log_files(directory);
  for (const std::string& file : step_files(directory)) files.push_back(file);
  for (const std::string& file : files)
    expect<DataError>(is_event_file(file) || !holds_something(file),
                      "{}: it is not of a log, and this run would replace it; choose another "
                      "--log-dir, or move it",
                      file);
}

// 0 where a log has none.
double seconds_of(const Metrics& row) {
  const double seconds = row.contains("seconds") ? row.number("seconds") : 0;
  return std::isfinite(seconds) ? seconds : 0;
}

double seconds_since_1970() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

// All values of a row but its place in the run.
EventFile::Scalars scalars_of(const Metrics& row) {
  EventFile::Scalars scalars;
  for (const auto& [name, value] : row)
    if (name != "step" && name != "seconds")
      scalars.emplace_back(name,
                           std::holds_alternative<std::string>(value) ? NAN : row.number(name));
  return scalars;
}

// Whether this is a row of RunLog: a step, and numbers by name, with null for non-finite ones.
bool is_row(const Json& value) {
  constexpr std::uint64_t last_step = std::numeric_limits<Index>::max();
  return value.is_object() && value.contains("step") && value["step"].is_number_unsigned() &&
         value["step"].get<std::uint64_t>() <= last_step &&
         std::all_of(value.begin(), value.end(),
                     [](const Json& each) { return each.is_number() || each.is_null(); });
}

Metrics metrics_of(const Json& row) {
  constexpr std::uint64_t greatest = std::numeric_limits<Index>::max();
  Metrics metrics;
  for (const auto& [name, value] : row.items()) {
    const bool is_whole = value.is_number_unsigned() ? value.get<std::uint64_t>() <= greatest
                                                     : value.is_number_integer();
    if (is_whole)
      metrics[name] = value.get<Index>();
    else
      metrics[name] = value.is_null() ? NAN : value.get<double>();
  }
  return metrics;
}

// Throws DataError for a table with more rows up to a step than the file of rows has lines.
void expect_no_more_rows(const std::string& table, const std::string& rows, Index last_step) {
  Index in_table = 0, in_rows = 0;
  std::istringstream table_lines(text_if_exists(table)), row_lines(text_if_exists(rows));
  for (std::string line; std::getline(table_lines, line);) {
    const auto step = whole_number<Index>(line.substr(0, line.find(',')));
    in_table += step && *step <= last_step;
  }
  for (std::string line; std::getline(row_lines, line);) ++in_rows;
  expect<DataError>(
      in_table <= in_rows,
      "{}: it has {} rows up to step {}, but {} has {}: resuming would lose the other "
      "rows; restore them, or choose another --log-dir",
      table, in_table, last_step, rows, in_rows);
}

}  // namespace

std::vector<Metrics> logged_rows(const std::string& directory, Index last_step) {
  constexpr std::size_t most_columns = 100;  // of all rows
  const std::string path = fmt::format("{}/{}", directory, rows_file);
  std::vector<Metrics> rows;
  std::set<std::string> names;
  Json before{{"step", 0}};
  std::istringstream lines(text_if_exists(path));
  std::string line;
  for (Index number = 1; std::getline(lines, line); ++number) {
    const std::optional<Json> row = parse_json(line, 1);
    if (!row && lines.eof()) {
      write_diagnostic(fmt::format("{}: dropping line {}, which was cut short\n", path, number));
      break;
    }
    expect<DataError>(row && is_row(*row),
                      "{}: line {} is not a row of a run; remove it, or choose another directory",
                      path, number);
    expect<DataError>(before["step"] <= (*row)["step"] && before != *row,
                      "{}: line {} does not follow the one before: step {} after {}; remove it, or "
                      "choose another directory",
                      path, number, (*row)["step"].dump(), before["step"].dump());
    before = *row;
    for (const auto& [name, value] : row->items()) names.insert(name);
    expect<DataError>(names.size() <= most_columns, "{}: line {} has more than {} columns", path,
                      number, most_columns);
    if ((*row)["step"] <= last_step) rows.push_back(metrics_of(*row));
  }
  return rows;
}

std::vector<std::string> log_files(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code failure;  // ignored: a directory that cannot be read has no event files for us
  for (const auto& entry : std::filesystem::directory_iterator(directory, failure))
    if (is_event_file(entry.path())) files.push_back(entry.path().string());
  // Last the one that marks them as a run's, so that it is the last to be removed.
  for (const char* file : {table_file, rows_file, curves_file, fork_file, probe_norms_file,
                           probe_weights_file, summary_file, config_file})
    files.push_back(fmt::format("{}/{}", directory, file));
  return files;
}

std::vector<std::string> step_files(const std::string& directory) {
  std::vector<std::string> files;
  for (const auto& [number, step] : numbered_in(directory, step_prefix))
    for (const std::string& file : files_of_step(step)) files.push_back(file);
  return files;
}

std::vector<std::string> files_of_step(const std::string& step_directory) {
  std::vector<std::string> files;
  for (const auto& [file, content] : marks_of_step)
    files.push_back(fmt::format("{}/{}", step_directory, file));
  return files;
}

void expect_own_step(const std::string& step_directory) {
  expect_no_link(step_directory);
  for (const auto& [file, content] : marks_of_step)
    expect_own(fmt::format("{}/{}", step_directory, file), content);
}

std::string step_directory(const std::string& directory, Index step) {
  return fmt::format("{}/{}{}", directory, step_prefix, step);
}

std::string kept_checkpoint(const std::string& directory, Index step) {
  return fmt::format("{}/{}", step_directory(directory, step), checkpoint_file);
}

std::vector<Index> kept_steps(const std::string& directory) {
  std::vector<Index> steps;
  std::error_code failure;  // ignored: a file that cannot be reached is none for us
  for (const auto& [number, path] : numbered_in(directory, step_prefix)) {
    const auto step = static_cast<Index>(number);
    if (step > 0 && std::filesystem::exists(kept_checkpoint(directory, step), failure))
      steps.push_back(step);
  }
  return steps;
}

std::string seed_directory(const std::string& directory, std::uint64_t seed) {
  return fmt::format("{}/{}{}", directory, seed_prefix, seed);
}

double peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

RunLog::RunLog(std::string directory, const Json& configuration, Index steps_done, bool tensorboard,
               const std::string& original)
    : directory_(std::move(directory)),
      configuration_(marked(configuration)),
      resumes_(steps_done > 0 && original.empty()),
      steps_before_(steps_done) {
  if (directory_.empty()) return;
  make_directory(directory_);
  lock_.emplace(claim_output("--log-dir", directory_));
  for (const std::string& file : log_files(directory_)) expect_writable(file);
  expect_own_log(directory_, steps_kept());
  for (const auto& [number, seed] : numbered_in(directory_, seed_prefix)) expect_own_log(seed, 0);
  if (resumes_) {
    rows_ = logged_rows(directory_, steps_done);
    expect_no_more_rows(path(table_file), path(rows_file), steps_done);
  } else if (!original.empty()) {
    rows_ = logged_rows(original, steps_done);
    original_rows_ = logged_rows(original);
  }
  if (!rows_.empty()) seconds_before_ = seconds_of(rows_.back());
  began_ = seconds_since_1970() - seconds_before_;
  if (tensorboard) events_.emplace(directory_);
}

void RunLog::start() {
  if (started_ || directory_.empty()) return;
  if (resumes_) {
    remove_file(path(summary_file));
  } else {
    remove_log(directory_);
    remove_seeds(directory_);
  }
  remove_steps(directory_, steps_kept());
  make_directory(directory_);
  write(path(config_file), configuration_);
  started_ = true;
  if (!rows_.empty()) write_rows();
}

void RunLog::row(const Metrics& metrics) {
  rows_.push_back(metrics);
  write_rows();
}

void RunLog::write_rows() {
  if (directory_.empty()) return;
  start();
  const std::vector<Json> rows = as_json(rows_);
  // First the file that a resuming run reads.
  write(path(rows_file), json_lines(rows));
  write(path(table_file), csv(rows));
  write(path(curves_file), svg(curves(rows)));
  if (!original_rows_.empty())
    write(path(fork_file), svg(curves_of_fork(rows, as_json(original_rows_), steps_before_)));
  if (events_) write_events();
}

void RunLog::write_events() {
  for (; event_rows_ < rows_.size(); ++event_rows_) {
    const Metrics& row = rows_[event_rows_];
    events_->add(std::get<Index>(row.at("step")), began_ + seconds_of(row), scalars_of(row));
  }
}

void RunLog::summary(const Json& results) {
  if (directory_.empty()) return;
  start();
  write(path(summary_file), text_of(results));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
