#include "lab/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <span>

#include "lab/provenance.h"
#include "tapegrad/core/beginning.h"
#include "tapegrad/core/error.h"
#include "tapegrad/nn/files/file.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

bool is_number(const Json& value) { return value.is_number() || value.is_null(); }

bool are_numbers(const Json& values) {
  return std::all_of(values.begin(), values.end(), is_number);
}

// Non-finite numbers are stored as null.
double number(const Json& value) { return value.is_null() ? NAN : value.get<double>(); }

bool is_step(const Json& value) {
  return value.is_number_integer() && value >= 0 && value <= std::numeric_limits<Index>::max();
}

// Each of its points a step and up to `most` numbers.
template <std::size_t most>
bool is_curve(const Json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& point) {
           return point.is_array() && point.size() >= 2 && point.size() <= 1 + most &&
                  is_step(point[0]) && are_numbers(point);
         });
}

bool are_traces(const Json& value) {
  return value.is_object() && std::all_of(value.begin(), value.end(), is_curve<1>);
}

Json json(const CurvePoint& point) {
  Json value = {point.step, point.training};
  if (point.validation) value.push_back(*point.validation);
  return value;
}

CurvePoint curve_point(const Json& value) {
  CurvePoint point{value[0].get<Index>(), number(value[1])};
  if (value.size() == 3) point.validation = number(value[2]);
  return point;
}

Json json(const Outcome& outcome) {
  Json curve = Json::array();
  for (const CurvePoint& point : outcome.curve) curve.push_back(json(point));
  return {{"seconds", outcome.seconds},
          {"values", outcome.values},
          {"curve", curve},
          {"items", outcome.items},
          {"traces", outcome.traces}};
}

// parts: have been checked
Outcome read_outcome(const Json& parts) {
  Outcome outcome{.seconds = number(parts["seconds"])};
  for (const auto& [name, value] : parts["values"].items()) outcome.values[name] = number(value);
  for (const Json& point : parts["curve"]) outcome.curve.push_back(curve_point(point));
  for (const Json& item : parts["items"]) outcome.items.push_back(number(item));
  for (const auto& [name, trace] : parts["traces"].items())
    for (const Json& point : trace)
      outcome.traces[name].emplace_back(point[0].get<Index>(), number(point[1]));
  return outcome;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// "steps 120, not 200": the first part of a configuration that differs from the expected one.
std::string difference(const Json& found, const Json& expected) {
  const auto value = [](const Json& of, const std::string& name) {
    return of.contains(name)
               ? beginning(of[name].dump(-1, ' ', false, Json::error_handler_t::replace))
               : "nothing";
  };
  for (const Json& names : {expected, found})
    for (const auto& [name, unused] : names.items())
      if (!found.contains(name) || !expected.contains(name) || found[name] != expected[name])
        return fmt::format("{} {}, not {}", beginning(name), value(found, name),
                           value(expected, name));
  return "its parts in another order";
}

void expect_data(const std::string& path, const Record& found, const std::string& data) {
  expect<DataError>(found.data == data,
                    "{}: it was trained on other data: digest {}, not {}; choose another --runs, "
                    "or remove it",
                    path, beginning(found.data), beginning(data));
}

// 7 of "seed_7.json"; nothing for other files.
std::optional<std::uint64_t> seed_of(const std::filesystem::path& file) {
  constexpr std::string_view before = "seed_", after = ".json";
  const std::string name = file.filename().string();
  if (!name.starts_with(before) || !name.ends_with(after)) return {};
  return whole_number<std::uint64_t>(
      name.substr(before.size(), name.size() - before.size() - after.size()));
}

}  // namespace

bool CurvePoint::operator==(const CurvePoint& other) const {
  return step == other.step && same(training, other.training) &&
         validation.has_value() == other.validation.has_value() &&
         same(validation.value_or(0), other.validation.value_or(0));
}

bool Outcome::diverged() const {
  const auto finite = [](const auto& value) { return std::isfinite(value.second); };
  if (!std::all_of(values.begin(), values.end(), finite)) return true;
  const std::size_t tenth = (curve.size() + 9) / 10;
  const auto sum = [&](std::size_t from) {
    double losses = 0;
    for (std::size_t i = from; i < from + tenth; ++i) losses += curve[i].training;
    return losses;
  };
  return !(sum(curve.size() - tenth) <= sum(0));
}

void expect_part(bool has, const Outcome& outcome, const std::string& lack) {
  expect<DataError>(has, "{}: {}; remove it, and the run is repeated",
                    outcome.file.empty() ? "a run" : outcome.file, lack);
}

double value_of(const Outcome& outcome, const std::string& name) {
  const auto found = outcome.values.find(name);
  expect_part(found != outcome.values.end(), outcome,
              fmt::format("its values have no \"{}\"", name));
  return found->second;
}

const Trace& trace_of(const Outcome& outcome, std::string_view name) {
  const auto found = outcome.traces.find(std::string(name));
  expect_part(found != outcome.traces.end() && !found->second.empty(), outcome,
              fmt::format("its traces have no points of \"{}\"", name));
  return found->second;
}

const CurvePoint& first_point(const Outcome& outcome) {
  expect_part(!outcome.curve.empty(), outcome, "its curve has no points");
  return outcome.curve.front();
}

const CurvePoint& last_point(const Outcome& outcome) {
  first_point(outcome);
  return outcome.curve.back();
}

double mean_of_items(const Outcome& outcome) {
  return std::accumulate(outcome.items.begin(), outcome.items.end(), 0.0) /
         static_cast<double>(outcome.items.size());
}

std::string to_string(const Record& record) {
  Json all = {
      {"configuration", record.configuration}, {"data", record.data}, {"version", record.version}};
  if (!record.provenance.empty()) all["provenance"] = record.provenance;
  all.update(json(record.outcome));
  return all.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Record read_record(const std::string& path) {
  constexpr int depth = 4;  // the file, the traces, one of them, a point
  const std::optional<Json> file = parse_json(read_text(path), depth);
  expect<DataError>(file && file->is_object(), "{}: it is not a run of the laboratory; remove it",
                    path);
  const auto part = [&](const char* name, bool (*fits)(const Json&)) -> const Json& {
    const auto found = file->find(name);
    expect<DataError>(found != file->end() && fits(*found),
                      "{}: it is not a run of the laboratory: its {} is missing or damaged; "
                      "remove it",
                      path, name);
    return *found;
  };
  const auto is_text = [](const Json& value) { return value.is_string(); };
  Record record;
  record.configuration = part("configuration", [](const Json& value) { return value.is_object(); });
  record.data = part("data", is_text);
  record.version = part("version", is_text);
  part("seconds", is_number);
  part("values", [](const Json& value) { return value.is_object() && are_numbers(value); });
  part("curve", is_curve<2>);
  part("items", [](const Json& value) { return value.is_array() && are_numbers(value); });
  part("traces", are_traces);
  if (file->contains("provenance"))
    record.provenance = part("provenance", [](const Json& value) {
      return value.is_object() && std::all_of(value.begin(), value.end(),
                                              [](const Json& text) { return text.is_string(); });
    });
  record.outcome = read_outcome(*file);
  record.outcome.file = path;
  return record;
}

void expect_same_configuration(const Record& record, const Json& configuration) {
  expect<DataError>(record.configuration == configuration,
                    "{}: it was trained with another configuration: {}; choose another --runs, or "
                    "remove it",
                    record.outcome.file, difference(record.configuration, configuration));
}

// JSON has no infinities; CBOR has.
std::string to_bytes(const Outcome& outcome) {
  Json all = json(outcome);
  all["file"] = outcome.file;
  std::string bytes;
  Json::to_cbor(all, bytes);
  return bytes;
}

Outcome from_bytes(const std::string& bytes) {
  const Json all = Json::from_cbor(bytes);
  Outcome outcome = read_outcome(all);
  outcome.file = all["file"].get<std::string>();
  return outcome;
}

Json training_configuration(const Flags& flags) {
  Json configuration = Json::object();
  for (const auto& [name, value] : flags.training_values())
    if (name != "program") configuration[name] = Json::parse(value);
  return configuration;
}

void Ledger::add_to(Flags& flags) {
  // What is there already is read and kept.
  flags.output("--runs", runs_, "Directory of finished runs, which are not repeated",
               {.files = [](const std::string&) { return std::vector<std::string>(); }});
}

void Ledger::begin(const std::string& experiment, const std::string& data) {
  experiment_ = experiment;
  data_ = data;
}

std::filesystem::path Ledger::folder() const { return std::filesystem::path(runs_) / experiment_; }

std::string Ledger::path(const std::string& system, std::uint64_t seed) const {
  expect<Error>(!system.empty() && system[0] != '.' && system.find('/') == std::string::npos,
                "ledger: the name of a system is not a folder name: \"{}\"", system);
  return folder() / system / fmt::format("seed_{}.json", seed);
}

bool Ledger::has(const std::string& system, std::uint64_t seed) const {
  return !runs_.empty() && is_there(path(system, seed));
}

Outcome Ledger::outcome(const std::string& system, std::uint64_t seed, const Json& configuration,
                        const std::function<Outcome()>& train) const {
  if (runs_.empty()) return train();
  const std::string path = this->path(system, seed);
  if (has(system, seed)) {
    const Record found = read_record(path);
    expect_same_configuration(found, configuration);
    expect_data(path, found, data_);
    return found.outcome;
  }
  make_directory(std::filesystem::path(path).parent_path());
  const auto begin = std::chrono::steady_clock::now();
  Record record{configuration, data_, TAPEGRAD_VERSION, train(), provenance()};
  record.outcome.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const std::string contents = to_string(record);
  write_file(path, std::as_bytes(std::span(contents)));
  return record.outcome;
}

FileLock Ledger::claim(const std::string& system, std::uint64_t seed) const {
  const std::string run = path(system, seed), name = run + ".lock";
  make_directory(std::filesystem::path(run).parent_path());
  FileLock lock(name);
  expect<DataError>(lock.error() == 0,
                    "{}: it cannot be locked: {}; choose --runs on another file system", name,
                    std::strerror(lock.error()));
  return lock;
}

Records Ledger::records() const {
  Records all;
  if (runs_.empty()) return all;
  std::string data = data_;
  for (const auto& system : entries_of(folder()))
    for (const auto& file : entries_of(system)) {
      const std::optional<std::uint64_t> seed = seed_of(file);
      if (!seed) continue;
      Record found = read_record(file);
      if (data.empty()) data = found.data;
      expect_data(file, found, data);
      all[system.filename()].emplace(*seed, std::move(found));
    }
  return all;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
