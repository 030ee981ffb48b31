// What Ba et al. 2016 measured: layer normalization in retrieval, reading, vectors of
// sentences, drawing, handwriting and reading digits, with tables 2 and 3 and figures 1 to 6 made
// from the ledger alone.

#include "experiments/ba2016_claims.h"
#include "experiments/ba2016_report.h"
#include "experiments/digit_claims.h"
#include "experiments/float32/subjects.h"
#include "experiments/matrix_tables.h"
#include "problems/paper_experiment.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::problems;

namespace {

/// What must hold for every size.
void claim_mechanics(Report& report, const Matrix& matrix, const TrainingsOfBa& subject = {}) {
  claim_items(report, matrix);
  for (const Claim& claim : ba2016_mechanics(matrix)) report.claim(claim);
  constexpr Index repeats = 12;
  Indices labels = Indices::uninitialized({10 * repeats});
  for (Index i = 0; i < labels.size(); ++i) labels.mutable_data()[i] = i % 10;
  report.claim(floor_claim(subject.floor(labels), repeats));
}

PaperExperiment experiment() {
  return {.paper = ba2016(),
          .summary = "Repeats the experiments of Ba et al. 2016 in a small size.",
          .title = "The experiments of Ba et al. 2016",
          .introduction = "",
          .tested = "The state with the best validation is tested, once.",
          .part = "figure",
          .parts = static_cast<int>(ba2016().figures.size()),
          .choose =
              [](PaperFlags& given) {
                for (const PaperFigure& figure : ba2016().figures)
                  if (figure.number == given.number()) given.tasks = figure.tasks;
              },
          .report =
              [](StudyRun& run, const Matrix& matrix, int number) {
                report_ba2016(run.report, matrix, number, run.from_ledger);
                claim_mechanics(run.report, matrix);
              }};
}

const PaperEntry entry(experiment);

}  // namespace

namespace tapegrad::TAPEGRAD_SCALAR::lab {

void measure_ba2016(Report& report, const TrainingsOfBa& subject) {
  claim_mechanics(
      report,
      train_faulty(ba2016(), make_tasks(ba2016(), {"retrieval", "draw"}, {}, Size::smoke),
                   subject.change),
      subject);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
