#include "experiments/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <type_traits>

#include "experiments/provenance.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/io/file.h"
#include "tapegrad/tapegrad.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

// For the library of JSON, which finds it by this name.
void to_json(Json& value, const CurvePoint& point) {
  value = {point.step, point.training};
  if (point.validation) value.push_back(*point.validation);
}

namespace {

// Squares of them, and sums of squares, are finite.
constexpr double greatest_number = 1e150;

// Non-finite numbers are stored as null.
bool is_number(const Json& value) {
  return value.is_null() || (value.is_number() && std::abs(value.get<double>()) <= greatest_number);
}

bool are_numbers(const Json& values) {
  return std::all_of(values.begin(), values.end(), is_number);
}

double number(const Json& value) { return value.is_null() ? NAN : value.get<double>(); }

bool is_step(const Json& value) {
  return value.is_number_integer() && value >= 0 && value <= std::numeric_limits<Index>::max();
}

// Each of its points a step, later than the one before, and up to `most` numbers.
template <std::size_t most>
bool is_curve(const Json& value) {
  const auto is_point = [](const Json& point) {
    return point.is_array() && point.size() >= 2 && point.size() <= 1 + most && is_step(point[0]) &&
           are_numbers(point);
  };
  const auto not_later = [](const Json& a, const Json& b) { return b[0] <= a[0]; };
  return value.is_array() && std::all_of(value.begin(), value.end(), is_point) &&
         std::adjacent_find(value.begin(), value.end(), not_later) == value.end();
}

// The parts of an outcome, each by its type: whether JSON is one, and how it is read.

bool fits(const Json& value, const double&) { return value.is_number() && is_number(value); }
void read(const Json& value, double& part) { part = number(value); }

bool fits(const Json& value, const std::map<std::string, double>&) {
  return value.is_object() && are_numbers(value);
}
void read(const Json& value, std::map<std::string, double>& part) {
  for (const auto& [name, each] : value.items()) part[name] = number(each);
}

bool fits(const Json& value, const std::vector<CurvePoint>&) { return is_curve<2>(value); }
void read(const Json& value, std::vector<CurvePoint>& part) {
  for (const Json& point : value) {
    part.push_back({point[0].get<Index>(), number(point[1])});
    if (point.size() == 3) part.back().validation = number(point[2]);
  }
}

bool fits(const Json& value, const std::vector<double>&) {
  return value.is_array() && are_numbers(value);
}
void read(const Json& value, std::vector<double>& part) {
  for (const Json& each : value) part.push_back(number(each));
}

bool fits(const Json& value, const std::map<std::string, RunTrace>&) {
  return value.is_object() && std::all_of(value.begin(), value.end(), is_curve<1>);
}
void read(const Json& value, std::map<std::string, RunTrace>& part) {
  for (const auto& [name, trace] : value.items())
    for (const Json& point : trace)
      part[name].emplace_back(point[0].get<Index>(), number(point[1]));
}

// Errors by rate or seed, as pairs.
template <class Key>
bool fits(const Json& value, const std::map<Key, double>&) {
  const auto is_key = [](const Json& key) {
    return std::is_integral_v<Key> ? key.is_number_unsigned() : key.is_number();
  };
  return value.is_array() && std::all_of(value.begin(), value.end(), [&](const Json& pair) {
           return pair.is_array() && pair.size() == 2 && is_key(pair[0]) && are_numbers(pair);
         });
}
template <class Key>
void read(const Json& value, std::map<Key, double>& part) {
  for (const Json& pair : value) part[pair[0].get<Key>()] = number(pair[1]);
}

// The parts that most outcomes do not have. Records leave them out where they are empty.
bool may_lack(const std::string& part) { return part == "tried" || part == "tested"; }

Json json(const Outcome& outcome) {
  Json parts = Json::object();
  Outcome::visit(outcome, [&](const std::string& name, const auto& part) {
    Json value = part;
    if (!may_lack(name) || !value.empty()) parts[name] = std::move(value);
  });
  return parts;
}

// parts: have been checked
Outcome read_outcome(const Json& parts) {
  Outcome outcome;
  Outcome::visit(outcome, [&](const std::string& name, auto& part) {
    if (const auto found = parts.find(name); found != parts.end()) read(*found, part);
  });
  return outcome;
}

// Types what older versions kept by names: "validation at the rate 0.001" among the values, and in
// the trace "test" seeds in place of steps.
void take_from_names(Outcome& outcome) {
  const std::string before = "validation at the rate ";
  std::erase_if(outcome.values, [&](const auto& value) {
    if (!value.first.starts_with(before)) return false;
    const std::optional<double> rate = real_number(value.first.substr(before.size()));
    expect_part(rate.has_value(), outcome,
                fmt::format("\"{}\" names no rate", beginning(value.first)));
    outcome.tried[*rate] = value.second;
    return true;
  });
  if (outcome.tried.empty() || !outcome.traces.contains("test")) return;
  for (const auto& [seed, error] : outcome.traces["test"])
    outcome.tested[static_cast<std::uint64_t>(seed)] = error;
  outcome.traces.erase("test");
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

void expect_data(const Record& found, const std::string& data) {
  expect<DataError>(found.data == data,
                    "{}: it was trained on other data: digest {}, not {}; choose another --runs, "
                    "or remove the line",
                    found.outcome.source, beginning(found.data), beginning(data));
}

// Refuses files that older versions wrote, since their runs would be trained again.
void expect_no_files_of_runs(const std::filesystem::path& folder) {
  for (const auto& system : entries_of(folder))
    for (const auto& file : entries_of(system))
      expect<DataError>(!file.filename().string().starts_with("seed_"),
                        "{}: an older version kept each run in a file of its own; move them away, "
                        "choose another --runs, or go on with that version",
                        folder.string());
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
  expect<DataError>(has, "{}: {}; remove the line, and the run is repeated",
                    outcome.source.empty() ? "a run" : outcome.source, lack);
}

double value_of(const Outcome& outcome, const std::string& name) {
  const auto found = outcome.values.find(name);
  expect_part(found != outcome.values.end(), outcome,
              fmt::format("its values have no \"{}\"", name));
  return found->second;
}

const RunTrace& trace_of(const Outcome& outcome, std::string_view name) {
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
  return std::accumulate(outcome.items.begin(), outcome.items.end(), 0.0) / outcome.items.size();
}

std::string to_string(const Record& record) {
  Json all = {
      {"configuration", record.configuration}, {"data", record.data}, {"version", record.version}};
  if (!record.provenance.empty()) all["provenance"] = record.provenance;
  all.update(json(record.outcome));
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Record read_record(const std::string& text, const std::string& source) {
  constexpr int depth = 4;  // the record, the traces, one of them, a point
  const std::optional<Json> parts = parse_json(text, depth);
  expect<DataError>(parts && parts->is_object(),
                    "{}: it is not a run of the laboratory; remove the line", source);
  const auto part = [&](const std::string& name, const auto& fits) -> const Json& {
    const auto found = parts->find(name);
    expect<DataError>(found != parts->end() && fits(*found),
                      "{}: it is not a run of the laboratory: its {} is missing or damaged; "
                      "remove the line",
                      source, name);
    return *found;
  };
  const auto is_text = [](const Json& value) { return value.is_string(); };
  Record record;
  record.configuration = part("configuration", [](const Json& value) { return value.is_object(); });
  record.data = part("data", is_text);
  record.version = part("version", is_text);
  Outcome::visit(record.outcome, [&](const std::string& name, const auto& of_outcome) {
    if (!may_lack(name) || parts->contains(name))
      part(name, [&](const Json& value) { return lab::fits(value, of_outcome); });
  });
  if (parts->contains("provenance"))
    record.provenance = part("provenance", [](const Json& value) {
      return value.is_object() && std::all_of(value.begin(), value.end(),
                                              [](const Json& each) { return each.is_string(); });
    });
  record.outcome = read_outcome(*parts);
  record.outcome.source = source;
  take_from_names(record.outcome);
  return record;
}

void expect_same_configuration(const Record& record, const Json& configuration) {
  expect<DataError>(record.configuration == configuration,
                    "{}: it was trained with another configuration: {}; choose another --runs, or "
                    "remove the line",
                    record.outcome.source, difference(record.configuration, configuration));
}

// JSON has no infinities; CBOR has.
std::string to_bytes(const Outcome& outcome) {
  Json all = json(outcome);
  all["source"] = outcome.source;
  std::string bytes;
  Json::to_cbor(all, bytes);
  return bytes;
}

Outcome from_bytes(const std::string& bytes) {
  const Json all = Json::from_cbor(bytes);
  Outcome outcome = read_outcome(all);
  outcome.source = all["source"].get<std::string>();
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
  if (runs_.empty()) return;
  const std::filesystem::path runs = runs_;
  expect_no_files_of_runs(runs / experiment);
  const std::filesystem::path path =
      runs / (experiment.substr(0, experiment.find('/')) + ".jsonl.gz");
  if (file_.path() != path) file_ = RunFile(path);
}

RunKey Ledger::key(const std::string& system, std::uint64_t seed) const {
  expect<Error>(!system.empty() && system.find('/') == std::string::npos,
                "ledger: the name of a system is empty or has a slash: \"{}\"", system);
  return {experiment_ + "/" + system, seed};
}

bool Ledger::has(const std::string& system, std::uint64_t seed) const {
  return !runs_.empty() && file_.runs().latest(key(system, seed)) != nullptr;
}

Outcome Ledger::outcome(const std::string& system, std::uint64_t seed, const Json& configuration,
                        const std::function<Outcome()>& train) const {
  if (runs_.empty()) return train();
  const RunKey key = this->key(system, seed);
  if (const PackedRun* run = file_.runs().latest(key)) {
    const Record found = read_record(run->record, run->source);
    expect_same_configuration(found, configuration);
    expect_data(found, data_);
    return found.outcome;
  }
  expect_named_commit();
  make_directory(runs_);
  const auto begin = std::chrono::steady_clock::now();
  Record record{configuration, data_, TAPEGRAD_VERSION, train(), provenance()};
  record.outcome.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  file_.add(key, to_string(record));
  return record.outcome;
}

FileLock Ledger::claim(const std::string& system, std::uint64_t seed) const {
  return file_.claim(key(system, seed));
}

Records Ledger::records() const {
  Records all;
  if (runs_.empty()) return all;
  std::string data = data_;
  const std::string before = experiment_ + "/";
  for (const auto& [key, repeats] : file_.runs().repeats()) {
    if (!key.run.starts_with(before)) continue;
    const PackedRun& run = repeats.rbegin()->second;
    Record found = read_record(run.record, run.source);
    if (data.empty()) data = found.data;
    expect_data(found, data);
    all[key.run.substr(before.size())].emplace(key.seed, std::move(found));
  }
  return all;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
