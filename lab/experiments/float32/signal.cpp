// Which derivative of layer normalization is bookkeeping, which constraints on weights replace, and
// which is signal? Detached statistics with and without weights that are centered or keep their
// length.

#include "experiments/signal.h"

#include <algorithm>

#include "experiments/condition_tasks.h"
#include "experiments/drift_claims.h"
#include "experiments/float32/subjects.h"
#include "experiments/matrix_tables.h"
#include "problems/paper_experiment.h"
#include "problems/parsing.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::problems;

namespace {

/// Means over seeds: of cosines and angles over all moments, else the largest.
std::string traces_of(const MatrixColumn&, const MatrixCell& cell) {
  const auto over_seeds = [&](const char* trace, const auto& number) {
    RunningMean mean;
    for (const Outcome& run : cell.results.runs) mean.add(number(trace_of(run, trace)));
    return mean.value();
  };
  return fmt::format("{:.3f}, {:.2g}, {:.2g}, {:.2g}, {:.1e}", over_seeds("cosine", average),
                     over_seeds("weights", largest), over_seeds("length", largest),
                     over_seeds("deviation", largest), over_seeds("angle", average));
}

/// What a detached statistic costs in each task, and which share of it each constraint takes away.
void shares(Report& report, const std::string& optimizer, const Matrix& matrix,
            const std::string& detached) {
  Table table{fmt::format("What {} costs with {}, and R, the share that a constraint takes away",
                          detached, optimizer),
              matrix_header("system", matrix),
              {}};
  const auto row = [&](const std::string& name, const std::string& system, const auto& words) {
    table.rows.push_back(matrix_row(name, matrix, [&](const MatrixColumn& column) {
      const Results *one = column.of("layer_simple"), *other = column.of(detached),
                    *third = column.of(system);
      return one && other && third ? words(column, *one, *other, *third) : std::string("not run");
    }));
  };
  row("cost", detached,
      [](const MatrixColumn& column, const Results& one, const Results& other, const Results&) {
        return better(column.task.metric, one, other).reason;
      });
  for (const std::string& constraint : signal_constraints)
    row("R of " + constraint.substr(1), detached + constraint,
        [](const MatrixColumn& column, const Results& one, const Results& other,
           const Results& third) {
          const Metric& metric = column.task.metric;
          return std::isinf(advantage(metric, one, other).mean)
                     ? "diverges"
                     : ratio_of_leads(metric, third, other, one, other).to_string();
        });
  report.table(table);
}

/// R of each constraint where a detached statistic costs something.
void draw_shares(Report& report, const std::string& optimizer, const Matrix& matrix) {
  HeatMap map{.title = fmt::format("What constraints give back with {}", optimizer),
              .rows = {},
              .columns = {},
              .values = {},
              .unit = "share of the cost of a detached statistic",
              .caption =
                  "1: all of the cost, 0: none, below 0: the constraint costs more. A dash: "
                  "the seeds show no cost, or the runs are missing."};
  for (const MatrixColumn& column : matrix) map.columns.push_back(column.task.title);
  for (const std::string detached : {"detach_mean", "detach_variance"})
    for (const std::string& constraint : signal_constraints) {
      map.rows.push_back(detached + constraint);
      map.values.emplace_back();
      for (const MatrixColumn& column : matrix) {
        const Metric& metric = column.task.metric;
        const Results *one = column.of("layer_simple"), *other = column.of(detached),
                      *third = column.of(detached + constraint);
        const bool costs = one && other && third && !third->at_edge &&
                           better(metric, *one, *other).verdict == Verdict::supported;
        map.values.back().push_back(
            costs ? ratio_of_leads(metric, *third, *other, *one, *other).value : NAN);
      }
    }
  report.heat_map("shares_" + optimizer, map);
}

/// What goes wrong without each derivative, and what brings it back: how one task is learned.
void draw_losses(Report& report, const std::string& optimizer, const MatrixColumn& column) {
  const std::string task = column.task.title.substr(0, column.task.title.rfind(','));
  Diagram diagram{fmt::format("Without either derivative: {}", task),
                  "step",
                  "training loss",
                  {},
                  false,
                  fmt::format("With {}, means over seeds: layer normalization, and without the "
                              "derivative of its mean or of its deviation, each with and without "
                              "centered weights.",
                              optimizer)};
  for (const char* system : {"layer_simple", "detach_mean", "detach_mean+center", "detach_variance",
                             "detach_variance+center"})
    if (const Results* results = column.of(system)) {
      diagram.series.push_back(mean_training_curve(*results));
      diagram.series.back().name = system;
    }
  if (!diagram.series.empty()) report.figure("losses_" + column.task.name, diagram, Talk::yes);
}

void report_signal(Report& report, const Matrix& whole) {
  for (const std::string optimizer : {"adam", "momentum"}) {
    const Matrix matrix = of_optimizer(whole, optimizer);
    if (matrix.empty()) continue;
    report_tests(report, optimizer, matrix);
    report_systems(report,
                   fmt::format("With {}, means over seeds: the mean cosine with the attached "
                               "gradient, the largest rms(c)/rms(V), |W|/|W0| and s, and the "
                               "mean angle of a step",
                               optimizer),
                   matrix, traces_of);
    for (const char* detached : {"detach_mean", "detach_variance", "detach"})
      shares(report, optimizer, matrix, detached);
    draw_shares(report, optimizer, matrix);
    for (const MatrixColumn& column : matrix) draw_losses(report, optimizer, column);
    for (const JudgedClaim& claim :
         signal_predictions(matrix, optimizer == "adam" ? "Adam" : "momentum"))
      report.judged(claim);
  }
  report_missing(report, whole);
  for (const Claim& claim : signal_claims(whole)) report.claim(claim);
}

/// The parser of Xu et al. 2019 in half of its epochs, tested on validation and test sentences.
Problem parser(const Origin& origin, Size size) {
  if (size == Size::smoke) return parser_problem(origin, size);
  support::Treebank bank = treebank(origin);
  bank.test.insert(bank.test.end(), bank.validation.begin(), bank.validation.end());
  return parser_problem(bank, {.epochs = 3});
}

std::vector<MatrixTask> make(std::vector<std::string> names, const Origin& origin, Size size) {
  const bool parses = std::erase(names, "ud_ewt_adam") > 0;
  std::vector<MatrixTask> tasks;
  if (!names.empty()) tasks = signal_tasks(names, origin, size);
  if (parses)
    tasks.push_back(
        problem_task(signal_paper().task("ud_ewt_adam"), parser(origin, size), "adam", true));
  return tasks;
}

PaperExperiment experiment() {
  return {
      .paper = signal_paper(),
      .summary =
          "Tests which derivatives of layer normalization constraints on weights can replace.",
      .title = "Bookkeeping and signal",
      .introduction =
          "Layer normalization has its mean, its deviation or both detached. Beside each stands "
          "the same with the weights that feed norms centered after each step (center), put back "
          "to their initial length (unit), or both; and root mean square norms. Norms have no gain "
          "and no bias. Validations are losses. ",
      .tested = "Its last state is tested.",
      .report = [](StudyRun& run, const Matrix& matrix, int) { report_signal(run.report, matrix); },
      .make = make};
}

const PaperEntry entry(experiment);

}  // namespace

namespace tapegrad::TAPEGRAD_SCALAR::lab {

void measure_signal(Report& report, const TrainingsOfPaper& subject) {
  const Matrix matrix =
      train_faulty(signal_paper(), signal_tasks({"pre_2_adam"}, {}, Size::smoke), subject.change);
  for (const Claim& claim : signal_claims(matrix)) report.claim(claim);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
