#pragma once

#include <string>
#include <vector>

#include "lab/matrix_task.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// The tasks of a paper with these names, with their data and nets.
std::vector<MatrixTask> make_tasks(const Paper& paper, const std::vector<std::string>& names,
                                   const problems::Origin& origin, problems::Size size);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
