#include "experiments/matrix.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "tapegrad/core/error.h"
#include "tapegrad/nn/metrics.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

// The error of a validation: the less, the better.
double error_of(const Metric& metric, const Outcome& outcome) {
  return outcome.diverged() ? INFINITY : metric.advantage(0, metric.of(outcome));
}

MatrixCell make_cell(const PaperTask& task, const std::string& system, const SettingSearch& search,
                     const Records& records, std::uint64_t first, Index count) {
  MatrixCell cell{.setting = search.best().name(),
                  .results = {system},
                  .missing = {},
                  .tried = search.tried(),
                  .is_interior = search.is_interior()};
  cell.results.at_edge = !cell.is_interior;
  const auto& trained = records.at(cell.setting);
  for (const auto& [seed, record] : trained)
    if (task.chooses_by(seed)) cell.choosing.push_back(record.outcome);
  for (std::uint64_t seed = first; seed < first + task.seeds(count); ++seed) {
    if (const auto found = trained.find(seed); found != trained.end())
      cell.results.runs.push_back(found->second.outcome);
    else
      cell.missing.push_back(seed);
  }
  return cell;
}

// A text of a configuration, for people.
std::string stated(const Json& configuration, const char* name) {
  const auto found = configuration.find(name);
  return found != configuration.end() && found->is_string() ? found->get<std::string>()
                                                            : "not stated";
}

}  // namespace

std::string NormSetting::name() const { return fmt::format("{}@{:.3g}", norm, rate); }

std::optional<NormSetting> NormSetting::named(std::string_view name) {
  const std::size_t at = name.rfind('@');
  if (at == std::string_view::npos) return {};
  double rate = 0;
  std::from_chars(name.data() + at + 1, name.data() + name.size(), rate);
  return NormSetting{std::string(name.substr(0, at)), rate};
}

NormSetting NormSetting::rounded(const std::string& norm, double rate) {
  return *named(NormSetting{norm, rate}.name());
}

SettingSearch::SettingSearch(const std::string& system) {
  if (system != "ada")
    rates[system];
  else
    for (const char* norm : {"ada:c=0.5", "ada:c=1", "ada:c=2"}) rates[norm];
}

SettingSearch::SettingSearch(const PaperTask& task, const std::string& system,
                             const Records& records)
    : SettingSearch(system) {
  for (const auto& [name, by_seed] : records) {
    const std::optional<NormSetting> setting = NormSetting::named(name);
    if (!setting || !rates.contains(setting->norm)) continue;
    RunningMean error;
    for (const auto& [seed, record] : by_seed)
      if (task.chooses_by(seed)) error.add(error_of(task.validation(), record.outcome));
    if (error.count == task.choosing_seeds) rates[setting->norm].add(setting->rate, error.value());
  }
}

std::size_t SettingSearch::tried() const {
  std::size_t count = 0;
  for (const auto& [norm, search] : rates) count += search.errors.size();
  return count;
}

NormSetting SettingSearch::best() const {
  std::optional<NormSetting> best;
  double least = INFINITY;
  for (const auto& [norm, search] : rates) {
    if (search.errors.empty()) continue;
    const NormSetting own{norm, search.best()};
    const double error = search.errors.at(own.rate);
    if (best && !(error < least)) continue;
    best = own;
    least = error;
  }
  expect<ArgumentError>(best.has_value(), "best: no setting of {} has been tried",
                        rates.begin()->first);
  return *best;
}

bool SettingSearch::is_interior() const { return rates.at(best().norm).is_interior(); }

std::vector<NormSetting> SettingSearch::next(double first, std::size_t most) const {
  std::vector<NormSetting> settings;
  for (const auto& [norm, search] : rates)
    for (const double rate : {first, 3 * first}) {
      const NormSetting setting = NormSetting::rounded(norm, rate);
      if (!search.errors.contains(setting.rate)) settings.push_back(setting);
    }
  if (!settings.empty()) return settings;
  const std::string norm = best().norm;
  if (const auto rate = rates.at(norm).next({}, most))
    settings.push_back(NormSetting::rounded(norm, *rate));
  return settings;
}

const Results* MatrixColumn::of(const std::string& system) const {
  const auto found = cells.find(system);
  return found != cells.end() && found->second.missing.empty() ? &found->second.results : nullptr;
}

void expect_measured(const PaperTask& task, const Records& records) {
  for (const auto& [name, by_seed] : records)
    for (const auto& [seed, record] : by_seed) {
      const Outcome& outcome = record.outcome;
      const bool trained = NormSetting::named(name).has_value();
      const bool tested = !trained || !task.chooses_by(seed);
      value_of(outcome, tested ? task.metric.value : task.validation().value);
      if (trained) first_point(outcome);
      if (trained && tested && task.metric.of_items)
        expect_part(!outcome.items.empty(), outcome, "it has no test items");
    }
}

MatrixColumn make_column(const PaperTask& task, const Records& records, std::uint64_t first,
                         Index count) {
  expect_measured(task, records);
  MatrixColumn column{.task = task};
  for (const auto& [name, by_seed] : records) {
    if (by_seed.empty()) continue;
    const Record& any = by_seed.begin()->second;
    column.data = any.data;
    if (name.find('@') == std::string::npos) {
      column.baselines[name] = task.metric.of(any.outcome);
      continue;
    }
    column.optimizer = stated(any.configuration, "optimizer");
    column.initial = stated(any.configuration, "initial values");
  }
  for (const std::string& system : task.all_systems())
    if (const SettingSearch search(task, system, records); search.tried() > 0)
      column.cells.emplace(system, make_cell(task, system, search, records, first, count));
  if (const auto baseline = column.baselines.find(task.baseline);
      baseline != column.baselines.end())
    column.task.metric.baseline = baseline->second;
  return column;
}

Matrix read_matrix(const Paper& paper, Ledger& ledger, std::uint64_t first, Index count) {
  Matrix matrix;
  for (const PaperTask& task : paper.tasks) {
    ledger.begin(fmt::format("{}/{}", paper.name, task.name), "");
    matrix.push_back(make_column(task, ledger.records(), first, count));
  }
  return matrix;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
