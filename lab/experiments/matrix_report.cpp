#include "experiments/matrix_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "experiments/detaching.h"
#include "experiments/forms.h"
#include "experiments/matrix_picture.h"
#include "experiments/matrix_tables.h"
#include "experiments/paper.h"
#include "support/remedy.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {
namespace {

std::string name_of(const SystemPair& pair) { return fmt::format("{} - {}", pair.a, pair.b); }

// The tasks of the paper, without those beside its tables.
Matrix columns_of_tables(const Matrix& matrix) {
  Matrix columns;
  for (const MatrixColumn& column : matrix)
    if (!column.task.published.empty()) columns.push_back(column);
  return columns;
}

// "not run" with what is published below.
std::string nothing(const MatrixColumn& column, const std::string& published) {
  return fmt::format("{}\n{}", column.task.absent.empty() ? "not run" : column.task.absent,
                     published);
}

// The published figure of a system.
std::string published(const PaperTask& task, const std::string& system) {
  const double value = task.published_of(system);
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, task.published_decimals) : "diverged";
}

// What is published of how far `a` is ahead of `b`. A system that diverged has the worst value.
double published_advantage(const PaperTask& task, const SystemPair& pair) {
  const auto value = [&](const std::string& system) {
    const double found = task.published_of(system);
    return std::isfinite(found) ? found : task.metric.worst;
  };
  return task.metric.advantage(value(pair.a), value(pair.b));
}

std::string system_cell(const MatrixColumn& column, const std::string& system) {
  const PaperTask& task = column.task;
  const std::string below = published(task, system);
  const auto found = column.cells.find(system);
  if (found == column.cells.end()) return nothing(column, below);
  const Results& results = found->second.results;
  const auto& missing = found->second.missing;
  const std::size_t trained = results.runs.size();
  if (!missing.empty())
    return fmt::format("{} of {} seeds\n{}", trained, trained + missing.size(), below);
  return fmt::format("{}\n{}{}", measured(task.metric, results, task.decimals), below,
                     !has_learned(task.metric, results) ? ": not learned"
                     : results.at_edge                  ? ": rate at an edge"
                                                        : "");
}

// What is published of a difference, in words: "+1.5", or who diverged.
std::string published_difference(const PaperTask& task, const SystemPair& pair) {
  std::string diverged;
  for (const std::string& system : {pair.a, pair.b})
    if (!std::isfinite(task.published_of(system)))
      diverged += fmt::format("{}{}", diverged.empty() ? "" : " and ", system);
  if (!diverged.empty()) return diverged + " diverged";
  return fmt::format("{:+.{}f}", published_advantage(task, pair), task.published_decimals);
}

// The p of the differences of all tables, of those that are judged: the family of a false discovery
// rate.
std::vector<double> levels_of_differences(const Matrix& matrix) {
  std::vector<double> levels;
  for (const PaperTable& of_paper : xu2019().tables)
    for (const SystemPair& pair : of_paper.differences)
      for (const MatrixColumn& column : matrix) {
        const Results *a = column.of(pair.a), *b = column.of(pair.b);
        if (a == nullptr || b == nullptr) continue;
        if (const auto p = better(column.task.metric, *a, *b).p) levels.push_back(*p);
      }
  return levels;
}

// The verdict on the sign that is published; none for a difference of 0. With one that is decided,
// whether it remains.   threshold: see `discovery_threshold`
std::string verdict_on_sign(const PaperTask& task, const SystemPair& pair, const Results& a,
                            const Results& b, double threshold) {
  const double ahead = published_advantage(task, pair);
  if (ahead == 0) return "";
  const Judgement judgement = ahead > 0 ? better(task.metric, a, b) : better(task.metric, b, a);
  const bool decided =
      judgement.verdict == Verdict::supported || judgement.verdict == Verdict::contradicted;
  return fmt::format(": {}{}", mark(judgement.verdict),
                     !decided                   ? ""
                     : judgement.p <= threshold ? ", remains"
                                                : ", does not remain");
}

std::string difference_cell(const MatrixColumn& column, const SystemPair& pair, double threshold) {
  const PaperTask& task = column.task;
  const std::string below = published_difference(task, pair);
  const Results *a = column.of(pair.a), *b = column.of(pair.b);
  if (a == nullptr || b == nullptr) return nothing(column, below);
  const Advantage found = advantage(task.metric, *a, *b);
  const std::string here = std::isfinite(found.mean)
                               ? fmt::format("{:+.{}f} +- {:.{}f}", found.mean, task.decimals,
                                             found.half_width, task.decimals)
                               : "diverged";
  return fmt::format("{}\n{}{}", here, below, verdict_on_sign(task, pair, *a, *b, threshold));
}

void table(Report& report, const Matrix& matrix, const PaperTable& of_paper, double threshold) {
  Table table{fmt::format("Table {}: {}", of_paper.number, of_paper.title),
              matrix_header("system", matrix),
              {}};
  for (const std::string& system : of_paper.systems)
    table.rows.push_back(matrix_row(
        system, matrix, [&](const MatrixColumn& column) { return system_cell(column, system); }));
  for (const SystemPair& pair : of_paper.differences)
    table.rows.push_back(matrix_row(name_of(pair), matrix, [&](const MatrixColumn& column) {
      return difference_cell(column, pair, threshold);
    }));
  table.rows.push_back(
      matrix_row("optimizer", matrix, [](const MatrixColumn& column) { return column.optimizer; }));
  table.rows.push_back(matrix_row("initial values", matrix,
                                  [](const MatrixColumn& column) { return column.initial; }));
  table.rows.push_back(
      matrix_row("unit", matrix, [](const MatrixColumn& column) { return column.task.unit; }));
  report.table(table);
}

Matrix with_data(const Matrix& matrix) {
  Matrix columns;
  std::ranges::copy_if(matrix, std::back_inserter(columns),
                       [](const MatrixColumn& column) { return column.task.absent.empty(); });
  return columns;
}

void other_tests(Report& report, const Matrix& matrix) {
  Table table{"Other tests of the same runs", {"test"}, {}};
  table.columns.insert(table.columns.end(), paper_norms.begin(), paper_norms.end());
  for (const MatrixColumn& column : with_data(matrix))
    for (const auto& [value, title] : column.task.other_tests) {
      Metric metric = column.task.metric;
      metric.value = value;
      std::vector<std::string> row{fmt::format("{}, {}", column.task.title, title)};
      for (const std::string& system : paper_norms) {
        const Results* results = column.of(system);
        row.push_back(results == nullptr ? "not run"
                                         : measured(metric, *results, column.task.decimals));
      }
      table.rows.push_back(row);
    }
  report.table(table);
}

// A system as a row of a table: its test metric on each task, and the rate that was chosen.
std::string tested_cell(const MatrixColumn& column, const std::string& system) {
  const auto found = column.cells.find(system);
  if (found == column.cells.end()) return "not run";
  const MatrixCell& cell = found->second;
  return cell.missing.empty()
             ? at_rate(column, cell)
             : fmt::format("{} seeds missing\n{}", cell.missing.size(), rate_of(cell));
}

// The tasks that train some systems beside the systems of the paper.
//   added: which ones   rows: the systems to show, by the names to show them with
void beside_the_paper(Report& report, const Matrix& matrix, const std::string& title,
                      const std::string& first, std::vector<std::string> PaperTask::*added,
                      const std::vector<std::pair<std::string, std::string>>& rows) {
  Matrix columns;
  std::ranges::copy_if(matrix, std::back_inserter(columns),
                       [&](const MatrixColumn& column) { return !(column.task.*added).empty(); });
  Table table{title, {first}, {}};
  for (const MatrixColumn& column : columns)
    table.columns.push_back(fmt::format("{}, {}", column.task.title, column.task.unit));
  for (const auto& [name, system] : rows)
    if (std::ranges::any_of(columns, [&, key = system](const MatrixColumn& column) {
          return column.cells.contains(key);
        }))
      table.rows.push_back(matrix_row(name, columns, [&, key = system](const MatrixColumn& column) {
        return tested_cell(column, key);
      }));
  report.table(table);
}

// See lab/docs/forms.md.
void forms(Report& report, const Matrix& matrix) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const Form& form : sixteen_forms()) rows.emplace_back(form.name(), form.norm());
  beside_the_paper(report, matrix, "Forms of layer normalization", "form", &PaperTask::forms, rows);
}

// Each beside its norm alone. See lab/docs/drift_measured.md.
void remedies(Report& report, const Matrix& matrix) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const MatrixColumn& column : matrix)
    for (const std::string& remedied : column.task.remedies)
      for (const std::string& system : {support::norm_and_remedy(remedied).first, remedied})
        if (const std::pair row{system, system}; std::ranges::count(rows, row) == 0)
          rows.push_back(row);
  beside_the_paper(report, matrix, "What keeps weights from drifting", "system",
                   &PaperTask::remedies, rows);
}

char sign(double value) { return value > 0 ? '+' : value < 0 ? '-' : '0'; }

// Signs that are measured and published, and how many of them agree.
struct SignCount {
  Index compared = 0, recurring = 0;
};

std::string sign_cell(const MatrixColumn& column, const SystemPair& pair, SignCount& count) {
  const char of_paper = sign(published_advantage(column.task, pair));
  const Results *a = column.of(pair.a), *b = column.of(pair.b);
  if (a == nullptr || b == nullptr) return fmt::format("not run\n{}", of_paper);
  const Metric& metric = column.task.metric;
  if (const auto none = not_judged(metric, *a, *b))
    return fmt::format("{}\n{}", mark(none->verdict), of_paper);
  const Advantage found = advantage(metric, *a, *b);
  const char here = sign(found.mean);
  if (here == '0' || of_paper == '0') return fmt::format("{}\n{}", here, of_paper);
  ++count.compared;
  count.recurring += here == of_paper ? 1 : 0;
  return fmt::format("{} {}\n{}", here, here == of_paper ? "recurs" : "differs", of_paper);
}

void sign_grid(Report& report, const Matrix& matrix) {
  const Matrix columns = with_data(matrix);
  Table grid{"Signs of the differences, measured and published; + is better",
             matrix_header("difference", columns),
             {}};
  SignCount count;
  for (const PaperTable& of_paper : xu2019().tables)
    for (const SystemPair& pair : of_paper.differences)
      grid.rows.push_back(matrix_row(name_of(pair), columns, [&](const MatrixColumn& column) {
        return sign_cell(column, pair, count);
      }));
  report.table(grid);
  report.paragraph(fmt::format(
      "Of {} published signs that were measured here, {} recur. If each had an even chance, as "
      "many "
      "would recur with probability {:.2g}. {}.",
      count.compared, count.recurring, binomial_chance(count.recurring, count.compared),
      discoveries("differences", levels_of_differences(columns))));
}

void figure(Report& report, const PaperFigure& of_paper, const MatrixColumn& column) {
  Diagram diagram{
      fmt::format("Figure {}, {}: {}", of_paper.number, column.task.title, of_paper.title),
      "updates",
      column.task.loss,
      {},
      false,
      fmt::format("Means over seeds with a band of one standard deviation. {}", of_paper.axes)};
  for (const std::string& system : of_paper.systems) {
    const Results* results = column.of(system);
    if (results == nullptr)
      return report.paragraph(
          fmt::format("Figure {}, {}: not run.", of_paper.number, column.task.title));
    if (of_paper.training) diagram.series.push_back(mean_training_curve(*results));
    if (of_paper.training) diagram.series.back().name += ", training";
    diagram.series.push_back(mean_validation_curve(*results));
    diagram.series.back().name += ", validation";
  }
  report.figure(fmt::format("figure{}_{}", of_paper.number, column.task.name), diagram);
}

void figures(Report& report, const Matrix& matrix) {
  for (const PaperFigure& of_paper : xu2019().figures)
    for (const MatrixColumn& column : matrix)
      if (std::count(of_paper.tasks.begin(), of_paper.tasks.end(), column.task.name) > 0)
        figure(report, of_paper, column);
}

std::string statement(const PaperTask& task, const PaperClaim& claim) {
  if (!claim.margin) return fmt::format("{}: {} is better than {}.", task.title, claim.a, claim.b);
  return fmt::format("{}: {} and {} differ by less than {} {}.", task.title, claim.a, claim.b,
                     *claim.margin, task.unit);
}

// "layer 76.10 +- 0.50, none 75.20 +- 0.31", and with items the discordant ones of each seed.
std::string both(const PaperTask& task, const Results& a, const Results& b) {
  std::string text = fmt::format("{} {}, {} {}", a.system, measured(task.metric, a, task.decimals),
                                 b.system, measured(task.metric, b, task.decimals));
  if (!task.metric.of_items) return text;
  text += "; items ahead:behind, seed by seed,";
  for (const auto& [ahead, behind] : discordant_items(task.metric, a, b))
    text += fmt::format(" {}:{}", ahead, behind);
  return text;
}

// ", pooled 0.42 (22 degrees of freedom)": the half-width with the variance over all systems of the
// task, of which none diverged.
std::string pooled(const MatrixColumn& column, const Results& a, const Results& b) {
  const Advantage found = advantage(column.task.metric, a, b);
  std::vector<const Results*> systems;
  for (const auto& [system, cell] : column.cells)
    if (const Results* results = column.of(system);
        results && results->runs.size() == found.seeds &&
        std::ranges::none_of(results->runs, &Outcome::diverged))
      systems.push_back(results);
  if (systems.size() < 2 || found.seeds < 2) return "";
  const PooledDeviation all = pooled_deviation(column.task.metric, systems);
  return fmt::format(", pooled {:.2g} ({} degrees of freedom)", all.half_width(found), all.degrees);
}

void verdicts(Report& report, const Matrix& matrix) {
  for (const MatrixColumn& column : matrix)
    for (const PaperClaim& claim : column.task.claims) {
      const Results *a = column.of(claim.a), *b = column.of(claim.b);
      if (a == nullptr || b == nullptr) continue;
      const Metric& metric = column.task.metric;
      Judgement judgement =
          claim.margin ? equal(metric, *a, *b, *claim.margin) : better(metric, *a, *b);
      if (is_judged(judgement.verdict)) judgement.reason += pooled(column, *a, *b);
      report.judged(
          {claim.source, statement(column.task, claim), both(column.task, *a, *b), judgement});
    }
}

const Metric last_training{.value = "training_loss"}, last_validation{.value = "validation_loss"};

// What figures show of two systems on a task.
struct FigureClaim {
  const char* source;  // empty for a task that stands for none of the figure
  const char *task, *a, *b, *statement, *quantity;
  Judgement (*judge)(const Results& a, const Results& b);
};

// Figure 1 is to show that gain and bias overfit.
Judgement overfits(const Results& a, const Results& b) {
  return all_of(
      {{"training", better(last_training, a, b)}, {"validation", better(last_validation, b, a)}});
}
constexpr const char* overfitting =
    "overfits: it ends with a lower training loss and a higher validation loss.";
constexpr const char* ahead_and_behind =
    "how far it is ahead in training, and behind in validation";

// Figure 2 is to show that the derivatives of the statistics matter.
Judgement lower_throughout(const Results& a, const Results& b) {
  return ahead_throughout(last_validation, a, b);
}
constexpr const char* lower_at_every_point = "has a lower validation loss at every point.";

Judgement learns_more(const Results& a, const Results& b) { return better(last_training, a, b); }
Judgement holds_less(const Results& a, const Results& b) { return better(last_validation, b, a); }

const std::vector<FigureClaim> figure_claims{
    {"", "de_en", "layer", "layer_simple", overfitting, ahead_and_behind, overfits},
    {"figure 1", "enwik8", "layer", "layer_simple", overfitting, ahead_and_behind, overfits},
    {"", "enwik8_short", "layer", "layer_simple", overfitting, ahead_and_behind, overfits},
    {"", "en_de", "layer_simple", "detach", lower_at_every_point, "validations of all seeds",
     lower_throughout},
    {"figure 2", "de_en", "layer_simple", "detach", lower_at_every_point,
     "validations of all seeds", lower_throughout},
    {"section 4.2", "de_en", "layer", "ada", "ends with a lower training loss.", "training losses",
     learns_more},
    {"section 4.2", "de_en", "layer", "ada", "ends with a higher validation loss.",
     "validation losses", holds_less},
    {"section 4.2", "ud_ewt", "layer", "ada", "ends with a lower training loss.", "training losses",
     learns_more},
    {"section 4.2", "ud_ewt", "layer", "ada", "ends with a higher validation loss.",
     "validation losses", holds_less}};

void verdicts_on_figures(Report& report, const Matrix& matrix) {
  for (const FigureClaim& claim : figure_claims)
    for (const MatrixColumn& column : matrix) {
      const Results *a = column.of(claim.a), *b = column.of(claim.b);
      if (column.task.name != claim.task || a == nullptr || b == nullptr) continue;
      const auto none = not_judged(column.task.metric, *a, *b);
      report.judged({claim.source,
                     fmt::format("{}: {} against {}: it {}", column.task.title, claim.a, claim.b,
                                 claim.statement),
                     claim.quantity, none ? *none : claim.judge(*a, *b)});
    }
}

void costs(Report& report, const Matrix& matrix) {
  const auto [image, values] = detaching_costs(matrix);
  if (values.empty()) return report.paragraph("The cost of detaching is not known yet.");
  report.drawing("detaching", image,
                 "What detaching the mean, the scale or both costs, task by task.", values);
}

}  // namespace

void claim_mechanics(Report& report, const Matrix& matrix) {
  std::vector<ByNorm> whole;
  for (const MatrixColumn& column : matrix) {
    ByNorm results;
    for (const std::string& system : paper_norms)
      if (const Results* found = column.of(system)) results[system] = *found;
    if (results.size() == paper_norms.size()) whole.push_back(results);
  }
  if (!whole.empty())
    for (const Claim& claim : detaching_claims(whole)) report.claim(claim);
  claim_items(report, matrix);
}

double binomial_chance(Index heads, Index count) {
  double chance = 0, term = std::pow(0.5, count);  // of no heads
  for (Index k = 0; k <= count; ++k) {
    if (k >= heads) chance += term;
    term *= static_cast<double>(count - k) / (k + 1);
  }
  return chance;
}

void report_matrix(Report& report, const Matrix& matrix, int only) {
  const Matrix columns = columns_of_tables(matrix);
  const double threshold = discovery_threshold(levels_of_differences(columns));
  for (const PaperTable& of_paper : xu2019().tables)
    if (only == 0 || only == of_paper.number) table(report, columns, of_paper, threshold);
  report_missing(report, matrix);
  report_baselines(report, matrix);
  report_settings(report, matrix);
  report_data(report, matrix);
  if (only != 0) return;
  other_tests(report, matrix);
  forms(report, matrix);
  remedies(report, matrix);
  report_passes(report, "What the two passes of layer normalization gain, with 95 % intervals",
                matrix);
  costs(report, matrix);
  sign_grid(report, columns);
  figures(report, matrix);
  verdicts(report, matrix);
  verdicts_on_figures(report, matrix);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
