// What Xu et al. 2019 measured: seven systems of normalization on eight tasks, with tables 1 to 4
// and figures 1 to 3 made from the ledger alone.

#include "lab/float32/subjects.h"
#include "lab/matrix_report.h"
#include "lab/paper_flags.h"
#include "lab/paper_xu2019.h"
#include "lab/registry.h"
#include "problems/paper_tasks.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;

namespace {

struct XuFlags : PaperFlags {
  std::vector<std::string> tasks{"enwik8", "rt",        "sst5",        "mnist",
                                 "ud_ewt", "rt_splits", "enwik8_short"};

  void add_to(Flags& flags) {
    PaperFlags::add_to(flags, "table", {"table1", "table2", "table3", "table4"});
    flags.setting("--tasks", tasks, "Tasks to train; en_de and de_en need SentencePiece")
        ->check(CLI::IsMember(names_of(xu2019())));
  }

  /// Reduces the systems to those of the table.
  void choose_systems() {
    for (const PaperTable& of_paper : paper_tables)
      if (of_paper.number == number()) training.systems = of_paper.systems;
  }
};

void introduce(Report& report, const XuFlags& flags, const std::vector<MatrixTask>& tasks) {
  report.paragraph(fmt::format(
      "Seven systems are trained on each task; those of one seed start from the same weights and "
      "see the same batches. Each system tries "
      "learning rates a factor 3 apart, and AdaNorm three values of C, with seed {}, until the "
      "best "
      "has a worse rate on both sides or {} have been tried; the setting with the best validation "
      "is trained with {} seeds. The state with "
      "the best validation is tested, once. A cell has the mean over seeds and their standard "
      "deviation, with the published figure beside it. A difference has half the width of its 95 % "
      "interval, over paired seeds and over test items, and the verdict on the published sign; + "
      "is better. Two tasks stand beside the tables: five splits of RT, a split for each seed, and "
      "a text that is short enough to be read several times.",
      choosing_seed, most_rates(flags.size), flags.training.comparison.seeds));
  std::string data;
  for (const MatrixTask& task : tasks)
    data += fmt::format("{}{}: {}", data.empty() ? "" : "; ", task.name, task.source);
  if (!data.empty()) report.paragraph(fmt::format("Data of {}.", data));
  if (!flags.data.empty())
    report.paragraph(
        "For comparison with enwik8, xz -9e packs the first 3,800,000 bytes into 1,077,992 and all "
        "4,000,000 into 1,129,688: 2.07 bits for each byte of the test part (head -c 3800000 | xz "
        "-9e | wc -c).");
}

int run(const registry::Experiment& self, int argc, char** argv) {
  Flags flags(argv[0], self.summary);
  XuFlags given;
  Report report;
  Ledger ledger;
  given.add_to(flags);
  report.add_to(flags);
  ledger.add_to(flags);
  return flags.run(argc, argv, [&] {
    given.check(flags, xu2019());
    given.choose_systems();
    set_threads(given.training.comparison.threads);
    Cluster cluster;
    report.begin(self.name, "The tables of Xu et al. 2019", command_line(argc, argv),
                 cluster.is_first());
    const std::vector<MatrixTask> tasks =
        given.from_ledger
            ? std::vector<MatrixTask>()
            : problems::make_tasks(xu2019(), given.tasks, given.origin(), problem_size(given.size));
    const Matrix matrix = given.matrix(xu2019(), cluster, ledger, tasks);
    introduce(report, given, tasks);
    report_matrix(report, matrix, given.number());
    claim_mechanics(report, matrix);
    return report.finish();
  });
}

const registry::Entry entry({"xu2019", "Fills the tables of Xu et al. 2019 with smaller trainings.",
                             run, true});

}  // namespace

namespace tapegrad::TAPEGRAD_SCALAR::lab {

void measure_matrix(Report& report, const TrainingsOfPaper& subject) {
  MatrixTask task = problems::make_tasks(xu2019(), {"rt"}, {}, problems::Size::smoke).front();
  task.train = [train = task.train, &subject](const TaskTrial& trial) {
    Outcome outcome = train(trial);
    if (trial.tested) subject.change(trial.setting.norm, outcome);
    return outcome;
  };
  Cluster cluster;
  Ledger ledger;
  const MatrixTraining::Options options{.comparison = {.seeds = 1}, .quiet = true};
  claim_mechanics(report, MatrixTraining(cluster, ledger, options).train(xu2019(), {task}));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
