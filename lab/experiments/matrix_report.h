#pragma once

#include "experiments/matrix.h"
#include "experiments/report.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// Reports what has been measured beside what Xu et al. 2019 published, from the matrix alone:
/// tables 1 to 4, the signs of all differences, baselines and chosen settings, figures 1 to 3, the
/// verdicts on the paper's claims, and which runs are missing.
///   only: the number of one table, without the rest; 0: everything
void report_matrix(Report& report, const Matrix& matrix, int only = 0);

/// What must hold for every size: detached systems compute the values of layer_simple and have
/// other gradients, and test values are the means of their items. Reports what can be said of the
/// systems that have been trained.
void claim_mechanics(Report& report, const Matrix& matrix);

/// The chance that at least `heads` of `count` fair coins show heads.
double binomial_chance(Index heads, Index count);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
