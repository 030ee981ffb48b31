// Trains what the ledger lacks of the tables of Xu et al. 2019, or of another study, one run after
// the other, for as long as it is left to run. Any number of processes may share the work.

#include "experiments/factorial.h"
#include "experiments/matrix_training.h"
#include "experiments/paper_xu2019.h"
#include "experiments/registry.h"
#include "experiments/signal.h"
#include "problems/paper_experiment.h"
#include "support/data_files.h"
#include "tapegrad/train.h"
#include "tapegrad/train/output.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::problems;

namespace {

/// What can be trained: a paper, and how its tasks are made.
struct Study {
  const Paper& paper;
  std::vector<std::string> usual_tasks;
  std::vector<MatrixTask> make(const std::vector<std::string>& names, const Origin& origin,
                               Size size) const {
    if (paper.name == "signal") return signal_tasks(names, origin, size);
    if (paper.name == "factorial") return factorial_tasks(names, origin, size);
    return make_tasks(paper, names, origin, size);
  }
};

Study study_of(const std::string& name) {
  if (name == "signal") return {signal_paper(), names_of(signal_paper())};
  if (name == "factorial") return {factorial_paper(), names_of(factorial_paper())};
  return {xu2019(), {"mnist", "ud_ewt", "rt", "sst5", "enwik8", "enwik8_short", "rt_splits"}};
}

/// Names of tasks or systems of all studies.
std::vector<std::string> of_all_studies(std::vector<std::string> (*names)(const Paper&)) {
  std::vector<std::string> all;
  for (const Paper* paper : {&xu2019(), &signal_paper(), &factorial_paper()})
    for (const std::string& name : names(*paper)) all.push_back(name);
  return all;
}

struct QueueFlags {
  std::vector<std::string> tasks;
  std::string study = "xu2019", size = "report", data;
  bool list = false;
  MatrixTraining::Options training{.comparison = {.seeds = least_seeds}};

  void add_to(Flags& flags) {
    flags.setting("--size", size, "report: the nets of the tables; smoke: small ones")
        .check(one_of({"smoke", "report"}));
    flags.setting("--study", study, "Whose tasks are trained")
        .check(one_of({"xu2019", "signal", "factorial"}));
    flags
        .setting("--tasks", tasks,
                 "Tasks to train; without it, all of the study but en_de and de_en, which need "
                 "SentencePiece")
        .check(one_of(of_all_studies(names_of)));
    flags
        .setting("--systems", training.systems,
                 "Systems to train, separated by spaces; without it, all systems of each task")
        .delimiter('\0')  // names of systems have commas
        .check(one_of(of_all_studies(systems_of)));
    flags.input("--data", data,
                support::data_help("the data sets", "a folder for each") +
                    "; without it, the program draws its own");
    flags.setting("--list", list, "Show what can be trained now, and train nothing");
    training.comparison.add_to(flags, 1);
    flags.setting("--quiet", training.quiet, "No progress on standard error");
  }
};

void list_missing(MatrixTraining& training, const Paper& paper,
                  const std::vector<MatrixTask>& tasks) {
  for (const MatrixTask& task : tasks)
    for (const MissingRun& each : training.missing(paper, task))
      write_result(fmt::format("{} {} seed {}, {} trained\n", task.name, each.setting.name(),
                               each.seed, each.finished));
}

int run(const registry::Experiment& self, int argc, char** argv) {
  Flags flags(argv[0], self.summary);
  QueueFlags given;
  Ledger ledger;
  given.add_to(flags);
  ledger.add_to(flags);
  return flags.run(argc, argv, [&] {
    if (!flags.given("--runs"))
      throw FlagError("--runs", "is needed: the folder of the finished runs");
    const Study study = study_of(given.study);
    if (given.tasks.empty()) given.tasks = study.usual_tasks;
    if (problem_size(given.size) == Size::report)
      use_seeds_of(study.paper, flags, given.training.comparison);
    check_seeds(study.paper, given.training.comparison);
    set_threads(given.training.comparison.threads);
    given.training.most_rates = most_rates(study.paper, given.size);
    Cluster cluster;
    const std::vector<MatrixTask> tasks = study.make(
        given.tasks, {given.data, given.training.comparison.seed}, problem_size(given.size));
    MatrixTraining training(cluster, ledger, given.training);
    if (given.list)
      list_missing(training, study.paper, tasks);
    else
      training.train_missing(study.paper, tasks);
    return 0;
  });
}

const registry::Entry entry({"queue", "Trains what the ledger lacks of a study, for hours.", run,
                             true});

}  // namespace
