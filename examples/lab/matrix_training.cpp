#include "lab/matrix_training.h"

#include <algorithm>

#include "tapegrad/tapegrad.h"
#include "tapegrad/train/progress.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

Json configuration_of(const MatrixTask& task, const NormSetting& setting) {
  Json configuration = task.configuration;
  configuration["norm"] = setting.norm;
  configuration["rate"] = setting.rate;
  return configuration;
}

}  // namespace

MatrixTraining::MatrixTraining(Cluster& cluster, Ledger& ledger, const Options& options)
    : cluster_(cluster), ledger_(ledger), options_(options) {}

Matrix MatrixTraining::train(const Paper& paper, const std::vector<MatrixTask>& tasks) {
  const auto begin = [&](const MatrixTask& task) {
    ledger_.begin(fmt::format("{}/{}", paper.name, task.name), task.data);
  };
  for (const MatrixTask& task : tasks) {
    begin(task);
    left_.expect(task.name, lacking(paper.task(task.name), task), task.seconds);
  }
  std::map<std::string, Records> trained;
  for (const MatrixTask& task : tasks) {
    begin(task);
    trained[task.name] = train_column(paper.task(task.name), task);
  }
  Matrix matrix;
  for (const PaperTask& task : paper.tasks)
    matrix.push_back(
        make_column(task, trained[task.name], options_.comparison.seed, options_.comparison.seeds));
  return matrix;
}

Records MatrixTraining::train_column(const PaperTask& of_paper, const MatrixTask& task) {
  std::vector<System> tried, baselines, chosen;
  const std::vector<NormSetting> settings = settings_to_try(task, options_.systems);
  for (const NormSetting& setting : settings) tried.push_back(system_of(task, setting, false));
  ComparisonFlags once = options_.comparison;
  once.seeds = 1;
  once.seed = choosing_seed;
  Records records = train_systems(task, once, tried);
  for (const NormSetting& setting : settings)
    if (best_setting(of_paper, setting.system(), records) == setting.name())
      chosen.push_back(system_of(task, setting, true));
  for (auto& [name, by_seed] : train_systems(task, flags_of(of_paper), chosen))
    records[name].merge(by_seed);
  for (const auto& baseline : task.baselines)
    baselines.push_back({baseline.first, task.configuration,
                         [&baseline](const Trial&) { return baseline.second(); }});
  once.seed = 1;
  records.merge(train_systems(task, once, baselines));
  return records;
}

Records MatrixTraining::train_systems(const MatrixTask& task, const ComparisonFlags& flags,
                                      const std::vector<System>& systems) {
  Records records;
  if (systems.empty()) return records;
  const std::vector<Results> results = Comparison(cluster_, ledger_, flags).train(systems);
  for (std::size_t i = 0; i < results.size(); ++i)
    for (std::size_t j = 0; j < results[i].trainings.size(); ++j)
      records[systems[i].name].emplace(
          flags.seed + j,
          Record{systems[i].configuration, task.data, TAPEGRAD_VERSION, results[i].trainings[j]});
  return records;
}

System MatrixTraining::system_of(const MatrixTask& task, const NormSetting& setting, bool tested) {
  return {.name = setting.name(),
          .configuration = configuration_of(task, setting),
          .train = [this, &task, setting, tested](const Trial& trial) {
            return train_one(task, {setting, trial, tested});
          }};
}

Outcome MatrixTraining::train_one(const MatrixTask& task, const TaskTrial& trial) {
  Progress progress(task.steps, 0, options_.quiet || !cluster_.is_first());
  TaskTrial watched = trial;
  watched.seen = [&](Index step, double loss) { progress.step(step, loss); };
  Outcome outcome = task.train(watched);
  left_.trained(task.name, progress.seconds());
  progress.line(fmt::format("{} {} seed {}: validation {:.4g}, {:.0f} s; {}", task.name,
                            trial.setting.name(), trial.trial.seed, outcome.values.at("validation"),
                            progress.seconds(), left_.to_string()));
  return outcome;
}

ComparisonFlags MatrixTraining::flags_of(const PaperTask& of_paper) const {
  ComparisonFlags flags = options_.comparison;
  flags.seeds = of_paper.seeds(flags.seeds);
  return flags;
}

Index MatrixTraining::lacking(const PaperTask& of_paper, const MatrixTask& task) const {
  const std::vector<NormSetting> settings = settings_to_try(task, options_.systems);
  const ComparisonFlags flags = flags_of(of_paper);
  Index count = 0, systems = 0, seeds = 0;
  std::string last;
  for (const NormSetting& setting : settings) {
    count += ledger_.has(setting.name(), choosing_seed) ? 0 : 1;
    systems += setting.system() != last ? 1 : 0;
    last = setting.system();
    for (Index i = 0; i < flags.seeds; ++i)
      seeds += ledger_.has(setting.name(), flags.seed + static_cast<std::uint64_t>(i)) ? 1 : 0;
  }
  count += systems * flags.seeds - seeds;
  return (count + cluster_.size() - 1) / cluster_.size();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
