#include "experiments/ba2016_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "experiments/ba2016_claims.h"
#include "experiments/matrix_tables.h"

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
                   const std::string& published) {
  return fmt::format(
      "{}\n{}", results == nullptr ? "not run" : measured({.value = value}, *results, decimals),
      published);
}

// What is published: of R@1, R@5, R@10 and the mean rank, for captions, then for images.
void retrieval_table(Report& report, const MatrixColumn& column) {
  const PaperTable& of_paper = ba2016().table(2);
  Table table{"Table 2: " + of_paper.title,
              {"system", "caption R@1", "R@5", "R@10", "mean rank", "image R@1", "R@5", "R@10",
               "mean rank"},
              {}};
  for (const PaperRow& each : of_paper.rows) {
    const Results* results = column.of(each.system);
    std::vector<std::string> row{each.name};
    std::size_t place = 0;
    for (const char* search : {"caption", "image"})
      for (const char* value : {"recall_1", "recall_5", "recall_10", "mean_rank"}) {
        row.push_back(beside(results, fmt::format("test_{}_{}", search, value), 1,
                             each.published.at(place++)));
      }
    table.rows.push_back(row);
  }
  report.table(table);
  report.paragraph(
      "Published figures are for MS COCO with five captions for each of 1,000 images; here "
      "descriptions in another language take the place of images, so only differences compare.");
}

void probes_table(Report& report, const MatrixColumn& column) {
  constexpr std::array probes{"r", "rho", "MSE", "MR", "CR", "SUBJ", "MPQA", "MPQA_together"};
  constexpr std::size_t of_pairs = 3;
  const PaperTable& of_paper = ba2016().table(3);
  Table table{"Table 3: " + of_paper.title, {"system"}, {}};
  table.columns.insert(table.columns.end(), probes.begin(), probes.end());
  table.columns.back() = "MPQA, copies together";
  for (const PaperRow& each : of_paper.rows) {
    std::vector<std::string> row{each.name};
    for (std::size_t i = 0; i < probes.size(); ++i)
      row.push_back(beside(column.of(each.system), fmt::format("{}_{}", each.state, probes[i]),
                           i < of_pairs ? 3 : 1, each.published.at(i)));
    table.rows.push_back(row);
  }
  report.table(table);
  report.paragraph(
      "r, rho and MSE are measured on SICK; the others are accuracies in percent. In the last "
      "column, equal phrases of MPQA are in one fold. The published nets have read a billion words "
      "and have a vocabulary of 20,000, so only differences compare.");
}

// ---- Curves ----

Series curve_of(const std::string& trace, const Results& results) {
  return trace == "validation" ? mean_validation_curve(results)
         : trace == "training" ? mean_training_curve(results)
                               : mean_trace(results, trace);
}

void report_curve(Report& report, int figure, const PaperCurve& curve, const MatrixColumn& column) {
  const std::string title =
      fmt::format("Figure {}, {}: {}", figure, column.task.title, curve.title);
  Diagram diagram{
      title,
      "updates",
      curve.unit,
      {},
      false,
      fmt::format("Means over seeds with a band of one standard deviation. {}", curve.axes)};
  for (const std::string& system : column.task.systems)
    if (const Results* results = column.of(system)) {
      diagram.series.push_back(curve_of(curve.trace, *results));
      diagram.series.back().name = system;
    }
  if (diagram.series.empty()) return report.paragraph(fmt::format("{}: not run.", title));
  report.figure(fmt::format("figure{}_{}", figure, curve.name), diagram);
}

void report_curves(Report& report, const Matrix& matrix) {
  for (const MatrixColumn& column : matrix)
    for (const PaperFigure& figure : ba2016().figures)
      for (const PaperCurve& curve : figure.curves)
        if (curve.task == column.task.name) report_curve(report, figure.number, curve, column);
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
  for (const PaperFigure& each : ba2016().figures)
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
