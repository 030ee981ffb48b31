#include "lab/matrix.h"

#include <fmt/format.h>

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

// Whether the name is that of a setting of this system: "ada:c=2@0.003" of "ada".
bool is_setting_of(const std::string& system, const std::string& name) {
  return name.find('@') != std::string::npos && name.substr(0, name.find_first_of(":@")) == system;
}

MatrixCell make_cell(const PaperTask& task, const std::string& system, const Records& records,
                     std::uint64_t first, Index count) {
  MatrixCell cell{
      .setting = best_setting(task, system, records), .results = {system}, .missing = {}};
  for (const auto& [name, by_seed] : records)
    cell.tried += is_setting_of(system, name) && by_seed.contains(choosing_seed) ? 1U : 0U;
  for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(count); ++seed) {
    const auto& trained = records.at(cell.setting);
    if (const auto found = trained.find(seed); found != trained.end())
      cell.results.trainings.push_back(found->second.outcome);
    else
      cell.missing.push_back(seed);
  }
  return cell;
}

// What a configuration says of itself for people.
std::string stated(const Json& configuration, const char* name) {
  const auto found = configuration.find(name);
  return found != configuration.end() && found->is_string() ? found->get<std::string>()
                                                            : "not stated";
}

}  // namespace

std::string NormSetting::name() const { return fmt::format("{}@{:.3g}", norm, rate); }

std::string NormSetting::system() const { return norm.substr(0, norm.find(':')); }

const Results* MatrixColumn::of(const std::string& system) const {
  const auto found = cells.find(system);
  return found != cells.end() && found->second.missing.empty() ? &found->second.results : nullptr;
}

std::string best_setting(const PaperTask& task, const std::string& system, const Records& records) {
  const Metric metric = task.validation();
  std::string best;
  double value = metric.worst;
  for (const auto& [name, by_seed] : records) {
    const auto tried = by_seed.find(choosing_seed);
    if (!is_setting_of(system, name) || tried == by_seed.end()) continue;
    const double found = metric.of(tried->second.outcome);
    if (!best.empty() && !(metric.advantage(found, value) > 0)) continue;
    best = name;
    value = found;
  }
  return best;
}

MatrixColumn make_column(const PaperTask& task, const Records& records, std::uint64_t first,
                         Index count) {
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
  for (const std::string& system : task.systems)
    if (!best_setting(task, system, records).empty())
      column.cells.emplace(system, make_cell(task, system, records, first, task.seeds(count)));
  if (const auto bar = column.baselines.find(task.bar); bar != column.baselines.end())
    column.task.metric.baseline = bar->second;
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
