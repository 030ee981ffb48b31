#pragma once

#include <functional>

#include "experiments/matrix.h"
#include "experiments/report.h"
#include "experiments/verdict.h"

/// The tables of a matrix, for the reports of all papers.
namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// A row of a table, with a cell for each task.
using CellOf = std::function<std::string(const MatrixColumn&)>;
std::vector<std::string> matrix_row(const std::string& name, const Matrix& matrix,
                                    const CellOf& cell);
/// The titles of the tasks.
std::vector<std::string> matrix_header(const std::string& first, const Matrix& matrix);

/// "76.20 +- 0.20 (3)", mean, deviation and number of runs, or how many of them diverged.
std::string measured(const Metric& metric, const Results& results, int decimals);

/// "supported", "contradicted", "inconclusive", "not learned" or "rate at an edge".
const char* mark(Verdict verdict);

/// The rate of its setting: "@0.003", and whether it is at the edge of those that were tried.
std::string rate_of(const MatrixCell& cell);
/// What is measured of it on the test data, and its rate beside that.
std::string at_rate(const MatrixColumn& column, const MatrixCell& cell);

/// The columns of tasks whose names end with this optimizer, if anything has been trained.
Matrix of_optimizer(const Matrix& matrix, const std::string& optimizer);
/// A table with a row for each system of the tasks, and a cell for each task that has runs of it.
void report_systems(
    Report& report, const std::string& title, const Matrix& matrix,
    const std::function<std::string(const MatrixColumn&, const MatrixCell&)>& words);
/// Such a table of what is measured on the test data, with the rates that were chosen.
void report_tests(Report& report, const std::string& optimizer, const Matrix& matrix);
/// What the two passes of layer normalization gain on the tasks that train them.
void report_passes(Report& report, const std::string& title, const Matrix& matrix);

/// Names the seeds that cells lack.
void report_missing(Report& report, const Matrix& matrix);
void report_baselines(Report& report, const Matrix& matrix);
/// The setting that each system chose.
void report_settings(Report& report, const Matrix& matrix);
/// The digests of the data.
void report_data(Report& report, const Matrix& matrix);

/// Claims that test values are the means of their items.
void claim_items(Report& report, const Matrix& matrix);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
