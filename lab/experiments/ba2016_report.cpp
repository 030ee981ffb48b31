#include "experiments/ba2016_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "experiments/ba2016_claims.h"
#include "experiments/matrix_tables.h"
#include "experiments/paper_ba2016.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

// ---- Values ----

std::string reached(const MatrixColumn& column, const std::string& system) {
  const PaperTask& task = column.task;
  const auto found = column.cells.find(system);
  if (found == column.cells.end()) return "not run";
  const Results& results = found->second.results;
  const auto& missing = found->second.missing;
  const std::size_t trained = results.runs.size();
  if (!missing.empty()) return fmt::format("{} of {} seeds", trained, trained + missing.size());
  return measured(task.metric, results, task.decimals) +
         (has_learned(task.metric, results) ? "" : "\nnot learned at this size");
}

void test_values(Report& report, const Matrix& matrix) {
  Table table{
      "On the test set: mean and standard deviation over seeds, with the setting that seed "
      "101 chose on the validation set: system@learning rate",
      {"task", "system", "test", "unit", "setting"},
      {}};
  for (const MatrixColumn& column : matrix)
    for (const std::string& system : column.task.systems) {
      const auto found = column.cells.find(system);
      table.rows.push_back(
          {column.task.title, system, reached(column, system), column.task.unit,
           found == column.cells.end()
               ? ""
               : fmt::format("{}\nof {}", found->second.setting, found->second.tried)});
    }
  report.table(table);
}

void tasks(Report& report, const Matrix& matrix) {
  Table table{
      "Tasks and how nets learn them", {"task", "stands for", "optimizer", "initial values"}, {}};
  for (const MatrixColumn& column : matrix)
    table.rows.push_back(
        {column.task.title, column.task.of_paper, column.optimizer, column.initial});
  report.table(table);
}

// What has been measured, above what is published.
std::string beside(const Results* results, const std::string& value, int decimals,
                   const char* published) {
  return fmt::format(
      "{}\n{}", results == nullptr ? "not run" : measured({.value = value}, *results, decimals),
      published);
}

// A row of table 2: what is published of R@1, R@5, R@10 and the mean rank, for captions, then for
// images.
struct RowOfTable2 {
  const char *system, *name;
  std::array<const char*, 8> published;
};
constexpr RowOfTable2 table2[] = {
    {"symmetric", "Sym", {"45.4", "-", "88.7", "5.8", "36.3", "-", "85.8", "9.0"}},
    {"none", "OE", {"46.6", "79.3", "89.1", "5.2", "37.8", "73.6", "85.7", "7.9"}},
    {"layer", "OE + LN", {"48.5", "80.6", "89.8", "5.1", "38.9", "74.3", "86.3", "7.6"}},
    {"bag_of_words", "bag of words", {"-", "-", "-", "-", "-", "-", "-", "-"}}};

void retrieval_table(Report& report, const MatrixColumn& column) {
  Table table{"Table 2: captions found by images, and images found by captions",
              {"system", "caption R@1", "R@5", "R@10", "mean rank", "image R@1", "R@5", "R@10",
               "mean rank"},
              {}};
  for (const auto& [system, name, published] : table2) {
    const Results* results = column.of(system);
    std::vector<std::string> row{name};
    std::size_t place = 0;
    for (const char* search : {"caption", "image"})
      for (const char* value : {"recall_1", "recall_5", "recall_10", "mean_rank"}) {
        row.push_back(
            beside(results, fmt::format("test_{}_{}", search, value), 1, published[place++]));
      }
    table.rows.push_back(row);
  }
  report.table(table);
  report.paragraph(
      "Published figures are for MS COCO with five captions for each of 1,000 images; here "
      "descriptions in another language take the place of images, so only differences compare.");
}

// A row of table 3: a system, trained ("test") or not, and what is published of it.
struct RowOfTable3 {
  const char *system, *state, *name;
  std::array<const char*, 8> published;
};
constexpr RowOfTable3 table3[] = {
    {"none", "untrained", "before training", {"-", "-", "-", "-", "-", "-", "-", "-"}},
    {"none",
     "test",
     "skip-thoughts",
     {".842", ".767", ".298", "77.3", "81.8", "92.6", "87.9", "-"}},
    {"layer", "untrained", "LN, before training", {"-", "-", "-", "-", "-", "-", "-", "-"}},
    {"layer",
     "test",
     "skip-thoughts + LN",
     {".854", ".785", ".277", "79.5", "82.6", "93.4", "89.0", "-"}}};

void probes_table(Report& report, const MatrixColumn& column) {
  constexpr std::array probes{"r", "rho", "MSE", "MR", "CR", "SUBJ", "MPQA", "MPQA_together"};
  constexpr std::size_t of_pairs = 3;
  Table table{"Table 3: what probes find in vectors of sentences", {"system"}, {}};
  table.columns.insert(table.columns.end(), probes.begin(), probes.end());
  table.columns.back() = "MPQA, copies together";
  for (const auto& [system, state, name, published] : table3) {
    std::vector<std::string> row{name};
    for (std::size_t i = 0; i < probes.size(); ++i)
      row.push_back(beside(column.of(system), fmt::format("{}_{}", state, probes[i]),
                           i < of_pairs ? 3 : 1, published[i]));
    table.rows.push_back(row);
  }
  report.table(table);
  report.paragraph(
      "r, rho and MSE are measured on SICK; the others are accuracies in percent. In the last "
      "column, equal phrases of MPQA are in one fold. The published nets have read a billion words "
      "and have a vocabulary of 20,000, so only differences compare.");
}

// ---- Curves ----

using CurveOf = std::function<Series(const Results& results)>;

CurveOf traced(const char* name) {
  return [name](const Results& results) { return mean_trace(results, name); };
}

// A curve of each system of a task.
struct CurvesOfPaper {
  int figure;
  const char *task, *name, *title, *unit;
  CurveOf curve;
  const char* axes;  // of the paper, in words
};

constexpr const char* axes_of_figure3 = "The paper's axes: iterations, what the probe finds.";

const std::vector<CurvesOfPaper> all_curves{
    {1, "retrieval", "recall_1", "R@1 of images", "%", traced("recall_1"),
     "The paper's axes: iterations in steps of 300, recall of images for validation."},
    {1, "retrieval", "recall_5", "R@5 of images", "%", traced("recall_5"),
     "The paper's axes: iterations in steps of 300, recall of images for validation."},
    {1, "retrieval", "recall_10", "R@10 of images", "%", traced("recall_10"),
     "The paper's axes: iterations in steps of 300, recall of images for validation."},
    {2, "reader", "reader", "validation error", "%", mean_validation_curve,
     "The paper's axes: training steps in thousands, validation error rate."},
    {3, "skip_thoughts", "skip_thoughts", "validation loss", "nats per word", mean_validation_curve,
     "The paper does not show it."},
    {3, "skip_thoughts", "SICK_r", "SICK, r", "Pearson's r", traced("probed_r"), axes_of_figure3},
    {3, "skip_thoughts", "SICK_MSE", "SICK, MSE", "squared points", traced("probed_MSE"),
     axes_of_figure3},
    {3, "skip_thoughts", "MR", "MR", "% right", traced("probed_MR"), axes_of_figure3},
    {3, "skip_thoughts", "CR", "CR", "% right", traced("probed_CR"), axes_of_figure3},
    {3, "skip_thoughts", "SUBJ", "SUBJ", "% right", traced("probed_SUBJ"), axes_of_figure3},
    {3, "skip_thoughts", "MPQA", "MPQA", "% right", traced("probed_MPQA"), axes_of_figure3},
    {4, "draw", "draw", "validation bound", "nats per image", mean_validation_curve,
     "The paper's axes: epochs, variational bound on the test set in nats."},
    {5, "omniglot", "omniglot", "validation loss", "nats per move", mean_validation_curve,
     "The paper's axes: updates, negative log likelihood of a line."},
    {5, "kanji", "kanji", "validation loss", "nats per move", mean_validation_curve,
     "The paper's axes: updates, negative log likelihood of a line."},
    {5, "written_digits", "written_digits", "validation loss", "nats per move",
     mean_validation_curve, "The paper's axes: updates, negative log likelihood of a line."},
    {6, "mnist_128", "loss_128", "training loss", "nats", mean_training_curve,
     "The paper's axes: epochs, training loss. Normalized logits of \"batch\" keep its loss above "
     "a floor."},
    {6, "mnist_128", "error_128", "test error", "%", traced("test_error"),
     "The paper's axes: epochs, test error."},
    {6, "mnist_4", "loss_4", "training loss", "nats", mean_training_curve,
     "The paper's axes: epochs, training loss. Normalized logits of \"batch\" keep its loss above "
     "a floor."},
    {6, "mnist_4", "error_4", "test error", "%", traced("test_error"),
     "The paper's axes: epochs, test error."}};

void report_curve(Report& report, const CurvesOfPaper& of_paper, const MatrixColumn& column) {
  const std::string title =
      fmt::format("Figure {}, {}: {}", of_paper.figure, column.task.title, of_paper.title);
  Diagram diagram{
      title,
      "updates",
      of_paper.unit,
      {},
      false,
      fmt::format("Means over seeds with a band of one standard deviation. {}", of_paper.axes)};
  for (const std::string& system : column.task.systems)
    if (const Results* results = column.of(system)) {
      diagram.series.push_back(of_paper.curve(*results));
      diagram.series.back().name = system;
    }
  if (diagram.series.empty()) return report.paragraph(fmt::format("{}: not run.", title));
  report.figure(fmt::format("figure{}_{}", of_paper.figure, of_paper.name), diagram);
}

void report_curves(Report& report, const Matrix& matrix) {
  for (const MatrixColumn& column : matrix)
    for (const CurvesOfPaper& curves : all_curves)
      if (curves.task == column.task.name) report_curve(report, curves, column);
}

// ---- How soon ----

// "450:600, 475:575" and the ratio: when a system reaches the best of the baseline and when that
// does, seed by seed.
std::string times(const Results& a, const Results& b, Clock clock) {
  std::string text;
  const std::vector<TimesToBest> all = times_to_best({.value = "validation_loss"}, a, b, clock);
  for (const auto& [of_a, of_b] : all) {
    const std::string reached =
        std::isinf(of_a) ? std::string("never") : fmt::format("{:.0f}", of_a);
    text += fmt::format("{}{}:{:.0f}", text.empty() ? "" : ", ", reached, of_b);
  }
  return fmt::format("{}\nratio {:.2f}", text, mean_ratio(all));
}

void speed(Report& report, const Matrix& matrix, bool seconds) {
  Table table{
      "When systems reach the best validation of none, and when none does, seed by seed; seconds "
      "are for whole runs, including validations and tests",
      {"task", "system", "updates"},
      {}};
  if (seconds) table.columns.insert(table.columns.end(), {"seconds", "seconds of a run"});
  for (const MatrixColumn& column : matrix) {
    const Results* base = column.of("none");
    if (base == nullptr) continue;
    for (const std::string& system : column.task.systems) {
      const Results* results = column.of(system);
      if (system == "none" || results == nullptr) continue;
      table.rows.push_back({column.task.title, system, times(*results, *base, Clock::updates)});
      if (!seconds) continue;
      std::vector<double> taken;
      for (const Outcome& run : results->runs) taken.push_back(run.seconds);
      table.rows.back().push_back(times(*results, *base, Clock::seconds));
      table.rows.back().push_back(Spread(taken).to_string(0));
    }
  }
  if (!table.rows.empty()) report.table(table);
}

// ---- What has not been run ----

void not_run(Report& report, const Matrix& matrix) {
  for (const MatrixColumn& column : matrix) {
    if (column.cells.empty()) {
      report.paragraph(fmt::format("{}: not run.", column.task.title));
      continue;
    }
    std::string lacks;
    for (const std::string& system : column.task.systems)
      if (!column.cells.contains(system)) lacks += (lacks.empty() ? "" : ", ") + system;
    if (!lacks.empty()) report.paragraph(fmt::format("{}: {} not run.", column.task.title, lacks));
  }
}

// The columns of a figure; all columns for 0.
Matrix columns_of(const Matrix& matrix, int figure) {
  Matrix chosen;
  for (const FigureOfPaper& each : ba2016_figures)
    for (const MatrixColumn& column : matrix)
      if ((figure == 0 || figure == each.number) &&
          std::count(each.tasks.begin(), each.tasks.end(), column.task.name) > 0)
        chosen.push_back(column);
  return chosen;
}

}  // namespace

void report_ba2016(Report& report, const Matrix& all, int only, bool seconds) {
  const Matrix matrix = columns_of(all, only);
  test_values(report, matrix);
  tasks(report, matrix);
  for (const MatrixColumn& column : matrix) {
    if (column.task.name == "retrieval") retrieval_table(report, column);
    if (column.task.name == "skip_thoughts") probes_table(report, column);
  }
  report_missing(report, matrix);
  not_run(report, matrix);
  report_baselines(report, matrix);
  report_data(report, matrix);
  report_curves(report, matrix);
  speed(report, matrix, seconds);
  for (const JudgedClaim& claim : ba2016_claims(matrix)) report.judged(claim);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
