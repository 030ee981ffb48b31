// Trains what the ledger lacks of the tables of Xu et al. 2019, or of another study, one run after
// the other, for as long as it is left to run. Any number of processes may share the work.

#include <algorithm>

#include "problems/paper_experiment.h"
#include "tapegrad/train.h"
#include "tapegrad/train/output.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::problems;

namespace {

PaperExperiment experiment_of(const std::string& study) {
  for (const auto make : paper_experiments())
    if (make().paper.name == study) return make();
  throw ArgumentError(fmt::format("{}: it is no study with tasks", study));
}

/// Names of all studies: of themselves, or of their tasks or systems.
std::vector<std::string> of_all_studies(
    const std::function<std::vector<std::string>(const Paper&)>& names) {
  std::vector<std::string> all;
  for (const auto make : paper_experiments())
    for (const std::string& name : names(make().paper))
      if (std::ranges::count(all, name) == 0) all.push_back(name);
  return all;
}

struct QueueFlags {
  std::string study = "xu2019";
  std::vector<std::string> tasks, systems;
  double rate = 0;
  bool list = false;

  void add_to(Flags& flags, StudyRun& run) {
    flags.setting("--study", study, "Whose tasks are trained")
        .check(one_of(of_all_studies([](const Paper& paper) { return std::vector{paper.name}; })));
    flags
        .setting("--tasks", tasks,
                 "Tasks to train; without it, all of the study but en_de and de_en, which need "
                 "SentencePiece")
        .check(one_of(of_all_studies(names_of)));
    flags
        .setting("--systems", systems,
                 "Systems to train, separated by spaces; without it, all systems of each task")
        .delimiter('\0')  // names of systems have commas
        .check(one_of(of_all_studies(systems_of)));
    flags
        .setting("--rate", rate,
                 "Once rates are chosen, train all seeds at this one, whose results are judged "
                 "only where it is the best; 0: train them at the best of each system")
        .check(not_negative());
    flags.setting("--list", list, "Show what can be trained now, and train nothing");
    flags.checks([this, &run] {
      if (!run.flags->given("--runs"))
        throw FlagError("--runs", "is needed: the folder of the finished runs");
      choose_seeds(experiment_of(study).paper, run);
    });
  }
};

void list_missing(MatrixTraining& training, const Paper& paper,
                  const std::vector<MatrixTask>& tasks) {
  for (const MatrixTask& task : tasks)
    for (const MissingRun& each : training.missing(paper, task))
      write_result(fmt::format("{} {} seed {}, {} trained\n", task.name, each.setting.name(),
                               each.seed, each.finished));
}

void train_missing(StudyRun& run, const QueueFlags& given) {
  const PaperExperiment experiment = experiment_of(given.study);
  const std::vector<MatrixTask> tasks =
      experiment.make_tasks(given.tasks.empty() ? experiment.usual_tasks() : given.tasks, run);
  const MatrixTraining::Options options{
      given.systems, run.comparison, most_rates(experiment.paper, run.size), run.quiet, given.rate};
  MatrixTraining training(*run.cluster, run.ledger, options);
  if (given.list)
    list_missing(training, experiment.paper, tasks);
  else
    training.train_missing(experiment.paper, tasks);
}

const registry::Entry entry([] {
  return with_flags<QueueFlags>({.name = "queue",
                                 .summary = "Trains the missing runs of a study, for hours.",
                                 .title = "",
                                 .sizes = "report: the nets of the tables; smoke: small ones",
                                 .size = "report",
                                 .seeds = least_seeds,
                                 .data = data_sets_flag("; without it, the program draws its own"),
                                 .has_page = false},
                                train_missing);
});

}  // namespace
