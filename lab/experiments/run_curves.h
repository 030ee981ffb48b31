#pragma once

#include <string>
#include <vector>

#include "experiments/report.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// Reports what trainers left with --log-dir in these directories, run beside run: the flags in
/// which they differ, a diagram for each column of their metrics, where they ended, and the samples
/// that they generated. Throws DataError, naming the file, and the line if it has lines, for what
/// no run has written, and ArgumentError for a directory named twice.
void compare_runs(Report& report, const std::vector<std::string>& directories);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
