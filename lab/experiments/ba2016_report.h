#pragma once

#include "experiments/matrix.h"
#include "experiments/report.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// Reports what has been measured of Ba et al. 2016, from the matrix alone: test values, tables 2
/// and 3, baselines and chosen settings, figures 1 to 6, how soon each system learns, the
/// verdicts on the paper's claims, and what has not been run.
///   only: the number of one figure, with its table; 0: everything
///   seconds: whether to report times, which differ from run to run
void report_ba2016(Report& report, const Matrix& matrix, int only, bool seconds);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
