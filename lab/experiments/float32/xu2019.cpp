// What Xu et al. 2019 measured: seven systems of normalization on eight tasks, with tables 1 to 4
// and figures 1 to 3 made from the ledger alone.

#include "experiments/float32/subjects.h"
#include "experiments/matrix_report.h"
#include "problems/paper_experiment.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::problems;

namespace {

PaperExperiment experiment() {
  return {
      .paper = xu2019(),
      .summary = "Fills the tables of Xu et al. 2019 with smaller runs.",
      .title = "The tables of Xu et al. 2019",
      .introduction =
          "Seven systems are trained on each task; AdaNorm chooses among three values of C, too. A "
          "cell has the mean over seeds and their standard deviation, with the published figure "
          "beside it. A difference has half the width of its 95 % interval, over paired seeds and "
          "over test items, and the verdict on the published sign; + is better. Two tasks stand "
          "beside the tables: five splits of RT, a split for each seed, and a text that is short "
          "enough to be read several times. ",
      .tested = "The state with the best validation is tested, once.",
      .of_data =
          "For comparison with enwik8, xz -9e packs the first 3,800,000 bytes into 1,077,992 and "
          "all 4,000,000 into 1,129,688: 2.07 bits for each byte of the test part (head -c 3800000 "
          "| xz -9e | wc -c).",
      .part = "table",
      .parts = static_cast<int>(xu2019().tables.size()),
      .choose =
          [](PaperFlags& given) {
            for (const PaperTable& table : xu2019().tables)
              if (table.number == given.number()) given.systems = table.systems;
          },
      .report =
          [](StudyRun& run, const Matrix& matrix, int number) {
            report_matrix(run.report, matrix, number);
            claim_mechanics(run.report, matrix);
          }};
}

const PaperEntry entry(experiment);

}  // namespace

namespace tapegrad::TAPEGRAD_SCALAR::lab {

void measure_matrix(Report& report, const TrainingsOfPaper& subject) {
  claim_mechanics(report, train_faulty(xu2019(), make_tasks(xu2019(), {"rt"}, {}, Size::smoke),
                                       subject.change));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
