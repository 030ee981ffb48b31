// What Xu et al. 2019 measured: seven systems of normalization on eight tasks, with tables 1 to 4
// and figures 1 to 3 made from the ledger alone.

#include "lab/float32/subjects.h"
#include "lab/matrix_report.h"
#include "lab/paper_flags.h"
#include "lab/paper_xu2019.h"
#include "lab/registry.h"
#include "problems/digits.h"
#include "problems/parsing.h"
#include "problems/sentences.h"
#include "problems/text.h"
#include "problems/translation.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::problems;

namespace {

struct XuFlags : PaperFlags {
  std::vector<std::string> tasks{"enwik8", "rt",        "sst5",        "mnist",
                                 "ud_ewt", "rt_splits", "enwik8_short"};

  void add_to(Flags& flags) {
    PaperFlags::add_to(flags, "table", {"table1", "table2", "table3", "table4"});
    flags.setting("--tasks", tasks, "Tasks to train; en_de and de_en need SentencePiece")
        ->check(CLI::IsMember({"enwik8", "rt", "sst5", "mnist", "ud_ewt", "rt_splits",
                               "enwik8_short", "en_de", "de_en"}));
  }

  /// Reduces the systems to those of the table.
  void choose_systems() {
    for (const PaperTable& of_paper : paper_tables)
      if (of_paper.number == number()) training.systems = of_paper.systems;
  }
};

Problem make_problem(const std::string& name, const Origin& origin, Size size) {
  if (name.starts_with("enwik8")) return text_problem(origin, size, name == "enwik8_short");
  if (name == "mnist") return conv_problem(origin, size);
  if (name == "ud_ewt") return parser_problem(origin, size);
  if (name == "rt_splits") return split_problem(origin, size);
  if (name == "en_de" || name == "de_en") return translation_problem(name, origin, size);
  return sentence_problem(name, origin, size);
}

std::vector<MatrixTask> make_tasks(const XuFlags& flags) {
  std::vector<MatrixTask> tasks;
  for (const std::string& name : flags.tasks)
    tasks.push_back(
        task_of(xu2019().task(name), make_problem(name, flags.origin(), flags.problem_size())));
  return tasks;
}

void introduce(Report& report, const XuFlags& flags, const std::vector<MatrixTask>& tasks) {
  report.paragraph(fmt::format(
      "Seven systems are trained on each task; those of one seed start from the same weights and "
      "see the same batches. Each system tries two learning rates, and AdaNorm three values of C, "
      "with seed {}; the setting with the best validation is trained with {} seeds. The state with "
      "the best validation is tested, once. A cell has the mean over seeds and their standard "
      "deviation, with the published figure beside it. A difference has half the width of its 95 % "
      "interval, over paired seeds and over test items, and the verdict on the published sign; + "
      "is better. Two tasks stand beside the tables: five splits of RT, a split for each seed, and "
      "a text that is short enough to be read several times.",
      choosing_seed, flags.training.comparison.seeds));
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
        given.from_ledger ? std::vector<MatrixTask>() : make_tasks(given);
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
  MatrixTask task = task_of(xu2019().task("rt"), sentence_problem("rt", {}, Size::smoke));
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
