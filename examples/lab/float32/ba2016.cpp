// What Ba et al. 2016 measured: layer normalization in retrieval, reading, vectors of
// sentences, drawing, handwriting and reading digits, with tables 2 and 3 and figures 1 to 6 made
// from the ledger alone.

#include "lab/ba2016_claims.h"
#include "lab/ba2016_report.h"
#include "lab/digit_claims.h"
#include "lab/float32/subjects.h"
#include "lab/matrix_tables.h"
#include "lab/paper_ba2016.h"
#include "lab/paper_flags.h"
#include "lab/registry.h"
#include "problems/paper_tasks.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;

namespace {

struct BaFlags : PaperFlags {
  void add_to(Flags& flags) {
    PaperFlags::add_to(flags, "figure",
                       {"figure1", "figure2", "figure3", "figure4", "figure5", "figure6"});
  }
};

/// Those of the figure that was chosen, or of all figures.
std::vector<std::string> tasks_of(const BaFlags& flags) {
  std::vector<std::string> names;
  for (const FigureOfPaper& figure : ba2016_figures)
    if (flags.number() == 0 || flags.number() == figure.number)
      names.insert(names.end(), figure.tasks.begin(), figure.tasks.end());
  return names;
}

void introduce(Report& report, const BaFlags& flags, const std::vector<MatrixTask>& tasks) {
  report.paragraph(fmt::format(
      "Systems of one seed start from the same weights and see the same batches. Each system tries "
      "learning rates a factor 3 apart with seed {}, until the best has a worse one on both sides "
      "or "
      "{} have been tried; the best is trained with {} seeds. The state with the best validation "
      "is "
      "tested, once.",
      choosing_seed, most_rates(flags.size), flags.training.comparison.seeds));
  std::string data;
  for (const MatrixTask& task : tasks)
    data += fmt::format("{}{}: {}", data.empty() ? "" : "; ", task.name, task.source);
  if (!data.empty()) report.paragraph(fmt::format("Data of {}.", data));
}

/// What must hold for every size.
void claim_mechanics(Report& report, const Matrix& matrix, const TrainingsOfBa& subject = {}) {
  claim_items(report, matrix);
  for (const Claim& claim : ba2016_mechanics(matrix)) report.claim(claim);
  constexpr Index repeats = 12;
  Indices labels = Indices::uninitialized({10 * repeats});
  for (Index i = 0; i < labels.size(); ++i) labels.mutable_data()[i] = i % 10;
  report.claim(floor_claim(subject.floor(labels), repeats));
}

int run(const registry::Experiment& self, int argc, char** argv) {
  Flags flags(argv[0], self.summary);
  BaFlags given;
  Report report;
  Ledger ledger;
  given.add_to(flags);
  report.add_to(flags);
  ledger.add_to(flags);
  return flags.run(argc, argv, [&] {
    given.check(flags, ba2016());
    set_threads(given.training.comparison.threads);
    Cluster cluster;
    report.begin(self.name, "The experiments of Ba et al. 2016", command_line(argc, argv),
                 cluster.is_first());
    const std::vector<MatrixTask> tasks =
        given.from_ledger ? std::vector<MatrixTask>()
                          : problems::make_tasks(ba2016(), tasks_of(given), given.origin(),
                                                 problem_size(given.size));
    const Matrix matrix = given.matrix(ba2016(), cluster, ledger, tasks);
    introduce(report, given, tasks);
    report_ba2016(report, matrix, given.number(), given.from_ledger);
    claim_mechanics(report, matrix);
    return report.finish();
  });
}

const registry::Entry entry({"ba2016", "Repeats the experiments of Ba et al. 2016 in a small size.",
                             run, true});

}  // namespace

namespace tapegrad::TAPEGRAD_SCALAR::lab {

void measure_ba2016(Report& report, const TrainingsOfBa& subject) {
  std::vector<MatrixTask> tasks =
      problems::make_tasks(ba2016(), {"retrieval", "draw"}, {}, problems::Size::smoke);
  for (MatrixTask& task : tasks)
    task.train = [name = task.name, train = task.train, &subject](const TaskTrial& trial) {
      Outcome outcome = train(trial);
      if (trial.tested) subject.change(name, outcome);
      return outcome;
    };
  Cluster cluster;
  Ledger ledger;
  const MatrixTraining::Options options{.comparison = {.seeds = 1}, .quiet = true};
  claim_mechanics(report, MatrixTraining(cluster, ledger, options).train(ba2016(), tasks), subject);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
