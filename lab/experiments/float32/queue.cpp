// Trains what the ledger lacks of the tables of Xu et al. 2019, one run after the other, for
// as long as it is left to run. Any number of processes may share the work.

#include "experiments/matrix_training.h"
#include "experiments/paper_xu2019.h"
#include "experiments/registry.h"
#include "problems/paper_experiment.h"
#include "support/data_files.h"
#include "tapegrad/train.h"
#include "tapegrad/train/output.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::problems;

namespace {

struct QueueFlags {
  std::vector<std::string> tasks{"mnist",  "ud_ewt",       "rt",       "sst5",
                                 "enwik8", "enwik8_short", "rt_splits"};
  std::string size = "report", data;
  bool list = false;
  MatrixTraining::Options training{.comparison = {.seeds = least_seeds}};

  void add_to(Flags& flags) {
    flags.setting("--size", size, "report: the nets of the tables; smoke: small ones")
        .check(one_of({"smoke", "report"}));
    flags.setting("--tasks", tasks, "Tasks to train; en_de and de_en need SentencePiece")
        .check(one_of(names_of(xu2019())));
    flags
        .setting("--systems", training.systems,
                 "Systems to train, separated by spaces; without it, all systems of each task")
        .delimiter('\0')  // names of systems have commas
        .check(one_of(systems_of(xu2019())));
    flags.input("--data", data,
                support::data_help("the data sets", "a folder for each") +
                    "; without it, the program draws its own");
    flags.setting("--list", list, "Show what can be trained now, and train nothing");
    training.comparison.add_to(flags, 1);
    flags.setting("--quiet", training.quiet, "No progress on standard error");
  }
};

void list_missing(MatrixTraining& training, const std::vector<MatrixTask>& tasks) {
  for (const MatrixTask& task : tasks)
    for (const MissingRun& each : training.missing(xu2019(), task))
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
    check_seeds(xu2019(), given.training.comparison);
    set_threads(given.training.comparison.threads);
    given.training.most_rates = most_rates(given.size);
    Cluster cluster;
    const std::vector<MatrixTask> tasks =
        make_tasks(xu2019(), given.tasks, {given.data, given.training.comparison.seed},
                   problem_size(given.size));
    MatrixTraining training(cluster, ledger, given.training);
    if (given.list)
      list_missing(training, tasks);
    else
      training.train_missing(xu2019(), tasks);
    return 0;
  });
}

const registry::Entry entry({"queue",
                             "Trains the runs of the tables that the ledger lacks, for hours.", run,
                             true});

}  // namespace
