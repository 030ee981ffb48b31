#include "experiments/matrix_training.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

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

// Throws DataError if a run of the task has another configuration than it would have now.
void expect_configurations(const MatrixTask& task, const Records& records) {
  for (const auto& [name, by_seed] : records)
    if (const std::optional<NormSetting> setting = NormSetting::named(name))
      for (const auto& [seed, record] : by_seed)
        expect_same_configuration(record, configuration_of(task, *setting));
}

}  // namespace

MatrixTraining::MatrixTraining(Cluster& cluster, Ledger& ledger, const Options& options)
    : cluster_(cluster), ledger_(ledger), options_(options) {}

void MatrixTraining::begin(const Paper& paper, const MatrixTask& task) {
  ledger_.begin(fmt::format("{}/{}", paper.name, task.name), task.data);
}

Matrix MatrixTraining::train(const Paper& paper, const std::vector<MatrixTask>& tasks) {
  for (const MatrixTask& task : tasks)
    left_.expect(task.name, left(paper, missing(paper, task)), task.seconds);
  std::map<std::string, Records> trained;
  for (const MatrixTask& task : tasks) {
    begin(paper, task);
    trained[task.name] = train_column(paper.task(task.name), task);
  }
  Matrix matrix;
  for (const PaperTask& task : paper.tasks)
    matrix.push_back(
        make_column(task, trained[task.name], options_.comparison.seed, options_.comparison.seeds));
  return matrix;
}

Records MatrixTraining::train_column(const PaperTask& of_paper, const MatrixTask& task) {
  ComparisonFlags once = options_.comparison;
  once.seeds = of_paper.choosing_seeds;
  once.seed = choosing_seed;
  Records records;
  for (;;) {
    std::vector<System> next;
    for (const std::string& system : systems_of(task))
      for (const NormSetting& setting :
           SettingSearch(of_paper, system, records).next(task.rate, options_.most_rates))
        next.push_back(system_of(task, setting, false));
    if (next.empty()) break;
    records.merge(train_systems(task, once, next));
  }
  std::vector<System> chosen, baselines;
  for (const std::string& system : systems_of(task))
    chosen.push_back(system_of(task, SettingSearch(of_paper, system, records).best(), true));
  for (auto& [name, by_seed] : train_systems(task, flags_of(of_paper), chosen))
    records[name].merge(by_seed);
  for (const auto& baseline : task.baselines)
    baselines.push_back({baseline.first, task.configuration,
                         [&baseline](const Trial&) { return baseline.second(); }});
  once.seeds = 1;
  once.seed = 1;
  records.merge(train_systems(task, once, baselines));
  return records;
}

std::vector<MissingRun> MatrixTraining::missing(const Paper& paper, const MatrixTask& task) {
  begin(paper, task);
  const PaperTask& of_paper = paper.task(task.name);
  const ComparisonFlags flags = flags_of(of_paper);
  const Records records = ledger_.records();
  expect_configurations(task, records);
  expect_measured(of_paper, records);
  std::vector<MissingRun> all;
  for (const std::string& system : systems_of(task)) {
    const SettingSearch search(of_paper, system, records);
    std::vector<MissingRun> own;
    const auto add = [&](const NormSetting& setting, const ComparisonFlags& asked, bool tested) {
      const auto found = records.find(setting.name());
      for (std::uint64_t seed = asked.seed; seed < asked.seed + asked.seeds; ++seed)
        if (found == records.end() || !found->second.contains(seed))
          own.push_back(
              {&task, system, setting, seed, tested,
               search.tried() + (tested && found != records.end() ? found->second.size() - 1 : 0)});
    };
    for (const NormSetting& setting : search.next(task.rate, options_.most_rates))
      add(setting, {.seeds = of_paper.choosing_seeds, .seed = choosing_seed}, false);
    if (own.empty()) {
      const NormSetting best = search.best();
      add(options_.rate > 0 ? NormSetting::rounded(best.norm, options_.rate) : best, flags, true);
    }
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

bool MatrixTraining::has_baselines(const Paper& paper, const MatrixTask& task) {
  begin(paper, task);
  for (const auto& [name, compute] : task.baselines) {
    if (ledger_.has(name, 1)) continue;
    const FileLock claim = ledger_.claim(name, 1);
    if (!claim.is_held()) return false;
    ledger_.outcome(name, 1, task.configuration, compute);
  }
  return true;
}

void MatrixTraining::train_missing(const Paper& paper, const std::vector<MatrixTask>& tasks) {
  for (;;) {
    bool complete = true;
    std::vector<MissingRun> all;
    for (const MatrixTask& task : tasks) {
      complete &= has_baselines(paper, task);
      const std::vector<MissingRun> own = missing(paper, task);
      left_.expect(task.name, left(paper, own), task.seconds);
      all.insert(all.end(), own.begin(), own.end());
    }
    if (all.empty() && complete) return;
    std::ranges::stable_sort(all, {}, &MissingRun::finished);
    bool trained = false;
    for (const auto& [task, system, setting, seed, tested, finished] : all) {
      begin(paper, *task);
      const FileLock claim = ledger_.claim(setting.name(), seed);
      if (!claim.is_held() || ledger_.has(setting.name(), seed)) continue;
      const System chosen = system_of(*task, setting, tested);
      ledger_.outcome(chosen.name, seed, chosen.configuration,
                      [&, seed = seed] { return chosen.train({seed}); });
      trained = true;
      break;
    }
    // Others are at all of it; what they find decides what is next.
    if (!trained) std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

Records MatrixTraining::train_systems(const MatrixTask& task, const ComparisonFlags& flags,
                                      const std::vector<System>& systems) {
  Records records;
  if (systems.empty()) return records;
  const std::vector<Results> results = Comparison(cluster_, ledger_, flags).train(systems);
  for (std::size_t i = 0; i < results.size(); ++i)
    for (std::size_t j = 0; j < results[i].runs.size(); ++j)
      records[systems[i].name].emplace(
          flags.seed + j,
          Record{systems[i].configuration, task.data, TAPEGRAD_VERSION, results[i].runs[j]});
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

Index MatrixTraining::left(const Paper& paper, const std::vector<MissingRun>& missing) const {
  std::set<std::string> searching;  // their seeds follow
  for (const MissingRun& each : missing)
    if (!each.tested) searching.insert(each.system);
  const Index seeds = missing.empty() ? 0 : flags_of(paper.task(missing.front().task->name)).seeds;
  const Index count = std::ssize(missing) + std::ssize(searching) * seeds;
  return (count + cluster_.size() - 1) / cluster_.size();
}

std::vector<std::string> MatrixTraining::systems_of(const MatrixTask& task) const {
  std::vector<std::string> systems;
  std::ranges::copy_if(task.systems, std::back_inserter(systems), [&](const std::string& system) {
    return options_.systems.empty() || std::ranges::count(options_.systems, system) > 0;
  });
  return systems;
}

ComparisonFlags MatrixTraining::flags_of(const PaperTask& of_paper) const {
  ComparisonFlags flags = options_.comparison;
  flags.seeds = of_paper.seeds(flags.seeds);
  return flags;
}

Matrix train_faulty(const Paper& paper, std::vector<MatrixTask> tasks,
                    const ChangeOutcome& change) {
  for (MatrixTask& task : tasks)
    task.train = [name = task.name, train = task.train, &change](const TaskTrial& trial) {
      Outcome outcome = train(trial);
      if (trial.tested) change(name, trial.setting.norm, outcome);
      return outcome;
    };
  Cluster cluster;
  Ledger ledger;
  const MatrixTraining::Options options{.comparison = {.seeds = 1}, .quiet = true};
  return MatrixTraining(cluster, ledger, options).train(paper, tasks);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
