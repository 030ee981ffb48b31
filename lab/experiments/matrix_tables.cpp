#include "experiments/matrix_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/forms.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

bool includes(const std::vector<std::string>& systems, const std::string& system) {
  return std::find(systems.begin(), systems.end(), system) != systems.end();
}

// The systems of all tasks, in order of appearance.
std::vector<std::string> systems_of(const Matrix& matrix) {
  std::vector<std::string> systems;
  for (const MatrixColumn& column : matrix)
    for (const std::string& system : column.task.all_systems())
      if (!includes(systems, system)) systems.push_back(system);
  return systems;
}

// How far a test value is from the mean of its items: infinitely, if there are none. Nothing is
// said of a value that is not finite.
double distance_from_items(const Metric& metric, const Outcome& run) {
  const double value = value_of(run, metric.value);
  const double distance = std::abs(mean_of_items(run) - value);
  return std::isfinite(distance) ? distance : std::isfinite(value) ? INFINITY : 0;
}

}  // namespace

std::vector<std::string> matrix_row(const std::string& name, const Matrix& matrix,
                                    const CellOf& cell) {
  std::vector<std::string> cells{name};
  for (const MatrixColumn& column : matrix) cells.push_back(cell(column));
  return cells;
}

std::vector<std::string> matrix_header(const std::string& first, const Matrix& matrix) {
  return matrix_row(first, matrix, [](const MatrixColumn& column) { return column.task.title; });
}

std::string measured(const Metric& metric, const Results& results, int decimals) {
  const auto diverged = std::count_if(results.runs.begin(), results.runs.end(),
                                      [](const Outcome& run) { return run.diverged(); });
  const std::size_t count = results.runs.size();
  if (diverged > 0) return fmt::format("{} of {} diverged", diverged, count);
  return fmt::format("{} ({})", results.spread(metric).to_string(decimals), count);
}

const char* mark(Verdict verdict) {
  static constexpr const char* words[] = {"supported", "contradicted", "inconclusive",
                                          "not learned", "rate at an edge"};
  return words[static_cast<int>(verdict)];
}

std::string rate_of(const MatrixCell& cell) {
  return cell.setting.substr(cell.setting.rfind('@')) + (cell.is_interior ? "" : ", at the edge");
}

std::string at_rate(const MatrixColumn& column, const MatrixCell& cell) {
  return fmt::format("{}\n{}", measured(column.task.metric, cell.results, column.task.decimals),
                     rate_of(cell));
}

Matrix of_optimizer(const Matrix& matrix, const std::string& optimizer) {
  Matrix found;
  for (const MatrixColumn& column : matrix)
    if (column.task.name.ends_with("_" + optimizer) && !column.cells.empty())
      found.push_back(column);
  return found;
}

void report_systems(
    Report& report, const std::string& title, const Matrix& matrix,
    const std::function<std::string(const MatrixColumn&, const MatrixCell&)>& words) {
  Table table{title, matrix_header("system", matrix), {}};
  for (const std::string& system : systems_of(matrix))
    table.rows.push_back(matrix_row(system, matrix, [&](const MatrixColumn& column) {
      const auto cell = column.cells.find(system);
      return cell == column.cells.end() || cell->second.results.runs.empty()
                 ? "not run"
                 : words(column, cell->second);
    }));
  report.table(table);
}

void report_tests(Report& report, const std::string& optimizer, const Matrix& matrix) {
  report_systems(report, fmt::format("Loss or errors on test data with {}", optimizer), matrix,
                 at_rate);
}

void report_passes(Report& report, const std::string& title, const Matrix& matrix) {
  Table table{title, PassGains::header("task"), {}};
  for (const MatrixColumn& column : matrix) {
    const Results *layer_norm = column.of(layer_norm_form.norm()),
                  *backward = column.of(backward_form.norm()),
                  *forward = column.of(forward_form.norm()), *none = column.of(no_norm_form.norm());
    if (!layer_norm || !backward || !forward || !none) continue;
    const Metric& metric = column.task.metric;
    table.rows.push_back(
        PassGains{interaction(metric, *layer_norm, *backward, *forward, *none),
                  advantage(metric, *backward, *none), advantage(metric, *forward, *none),
                  advantage(metric, *backward, *forward)}
            .row(fmt::format("{}, {}", column.task.title, column.task.unit), column.task.decimals));
  }
  if (!table.rows.empty()) report.table(table);
}

void report_missing(Report& report, const Matrix& matrix) {
  std::string lacks;
  for (const MatrixColumn& column : matrix)
    for (const auto& [system, cell] : column.cells)
      for (const std::uint64_t seed : cell.missing)
        lacks += fmt::format("{}{} {} seed {}", lacks.empty() ? "" : ", ", column.task.name,
                             cell.setting, seed);
  if (!lacks.empty()) report.paragraph(fmt::format("Missing runs: {}.", lacks));
}

void report_baselines(Report& report, const Matrix& matrix) {
  Table table{"Baselines on the same test data", {"task", "baseline", "value", "unit"}, {}};
  for (const MatrixColumn& column : matrix)
    for (const auto& [name, value] : column.baselines)
      table.rows.push_back({column.task.title, name,
                            fmt::format("{:.{}f}", value, column.task.decimals), column.task.unit});
  report.table(table);
}

void report_settings(Report& report, const Matrix& matrix) {
  Table table{
      "Settings, the best of those tried on the validation set with seed 101: norm@learning rate",
      matrix_header("system", matrix),
      {}};
  for (const std::string& system : systems_of(matrix))
    table.rows.push_back(matrix_row(system, matrix, [&](const MatrixColumn& column) {
      const auto found = column.cells.find(system);
      if (found == column.cells.end())
        return std::string(includes(column.task.all_systems(), system) ? "not run" : "");
      return fmt::format("{}\nof {}{}", found->second.setting, found->second.tried,
                         found->second.is_interior ? "" : ", at the edge");
    }));
  report.table(table);
}

void report_data(Report& report, const Matrix& matrix) {
  Table table{"Data, by their digest", {"task", "stands for", "data"}, {}};
  for (const MatrixColumn& column : matrix)
    if (!column.data.empty())
      table.rows.push_back({column.task.title, column.task.of_paper, column.data});
  report.table(table);
}

void claim_items(Report& report, const Matrix& matrix) {
  double apart = 0;
  for (const MatrixColumn& column : matrix) {
    if (!column.task.metric.of_items) continue;
    for (const auto& [system, cell] : column.cells)
      for (const Outcome& run : cell.results.runs)
        apart = std::max(apart, distance_from_items(column.task.metric, run));
  }
  report.claim("Test values are the means of their items.", fmt::format("{:.1e} apart", apart),
               apart < 1e-9, "below 1e-9");
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
