// What do the forward pass of layer normalization and both projections of its gradient gain, each
// alone and together, in nets that need a norm and in nets that do not?

#include "experiments/factorial.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "experiments/condition_tasks.h"
#include "experiments/float32/subjects.h"
#include "experiments/forms.h"
#include "experiments/matrix_tables.h"
#include "problems/handwriting.h"
#include "problems/paper_experiment.h"
#include "tapegrad/train.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::problems;

namespace {

/// The losses or errors of all systems, as far as runs have ended.
void draw_systems(Report& report, const std::string& name, const std::string& what,
                  const Matrix& matrix) {
  std::vector<std::string> titles, units;
  for (const MatrixColumn& column : matrix) {
    titles.push_back(column.task.title);
    if (std::ranges::count(units, column.task.unit) == 0) units.push_back(column.task.unit);
  }
  HeatMap map{.title = fmt::format("Forms of layer normalization with {}", what),
              .rows = {},
              .columns = titles,
              .values = {},
              .unit = fmt::format("{}", fmt::join(units, ", ")),
              .caption =
                  "Means over seeds. A dash: not run; inf: a run diverged. none is no "
                  "normalization, layer_simple is layer normalization."};
  for (const std::string& system : matrix.front().task.all_systems()) {
    map.rows.push_back(system);
    map.values.emplace_back();
    for (const MatrixColumn& column : matrix) {
      const auto cell = column.cells.find(system);
      map.values.back().push_back(cell == column.cells.end() || cell->second.results.runs.empty()
                                      ? NAN
                                      : cell->second.results.spread(column.task.metric).mean);
    }
  }
  report.heat_map(name, map);
}

/// Which settings need a norm, and so can show what its parts gain.
void report_assay(Report& report, const Matrix& matrix) {
  Table table{"How far layer normalization is ahead of no norm where rates are chosen, in margins",
              {"task", "is for", "ahead by"},
              {}};
  for (const MatrixColumn& column : matrix) {
    static constexpr const char* purposes[] = {"exploration", "confirmation", "control"};
    if (!column.cells.contains(layer_norm_form.norm()) ||
        !column.cells.contains(no_norm_form.norm()))
      continue;
    table.rows.push_back({column.task.title, purposes[static_cast<int>(purpose_of(column))],
                          fmt::format("{:.1f}", assay(column))});
  }
  report.table(table);
}

void report_factorial(Report& report, const Matrix& whole) {
  for (const std::string optimizer : {"adam", "momentum"}) {
    for (const std::string purpose : {"exploration", "confirmation"}) {
      Matrix matrix = of_optimizer(whole, optimizer);
      std::erase_if(matrix, [&](const MatrixColumn& column) {
        return (purpose_of(column) == Purpose::exploration) != (purpose == "exploration");
      });
      if (matrix.empty()) continue;
      const std::string what = fmt::format("{}, for {}", optimizer, purpose);
      report_tests(report, what, matrix);
      draw_systems(report, fmt::format("{}_{}", purpose, optimizer), what, matrix);
      report_assay(report, matrix);
      report_passes(report,
                    fmt::format("What the two passes of layer normalization gain with {}, with "
                                "95 % intervals",
                                what),
                    matrix);
    }
    for (const JudgedClaim& claim : factorial_predictions(
             of_optimizer(whole, optimizer), optimizer == "adam" ? "Adam" : "momentum"))
      report.judged(claim);
  }
  report_missing(report, whole);
  for (const Claim& claim : factorial_claims(whole)) report.claim(claim);
}

std::vector<MatrixTask> make(std::vector<std::string> names, const Origin& origin, Size size) {
  std::vector<MatrixTask> tasks;
  for (const auto& [optimizer, rate] : {std::pair{"adam", 1e-3}, std::pair{"momentum", 0.03}}) {
    const std::string name = std::string("lstm_") + optimizer;
    if (std::erase(names, name) == 0) continue;
    Problem problem = handwriting_problem("omniglot", origin, size);
    problem.rate = rate;
    tasks.push_back(problem_task(factorial_paper().task(name), problem, optimizer, false));
  }
  if (!names.empty())
    std::ranges::move(factorial_tasks(names, origin, size), std::back_inserter(tasks));
  return tasks;
}

PaperExperiment experiment() {
  return {
      .paper = factorial_paper(),
      .summary = "Crosses the parts of layer normalization, and measures the gain of each.",
      .title = "The parts of layer normalization, crossed",
      .introduction =
          "A form is a value, x or z = (x - mean) / s, a factor of the gradient, 1 or 1/s, and a "
          "projection of the gradient. On small Transformers, for exploration, all sixteen forms "
          "are trained; on the other tasks the eight of the factor 1, layer normalization and its "
          "forward pass alone. Norms have no gain and no bias. Validations are losses. ",
      .tested = "Its last state is tested.",
      .report = [](StudyRun& run, const Matrix& matrix,
                   int) { report_factorial(run.report, matrix); },
      .make = make};
}

const PaperEntry entry(experiment);

}  // namespace

namespace tapegrad::TAPEGRAD_SCALAR::lab {

void measure_factorial(Report& report, const TrainingsOfPaper& subject) {
  const Matrix matrix = train_faulty(
      factorial_paper(), factorial_tasks({"pre_2_adam"}, {}, Size::smoke), subject.change);
  for (const Claim& claim : factorial_claims(matrix)) report.claim(claim);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
