#pragma once

#include <string>
#include <vector>

#include "lab/matrix_task.h"

namespace tapegrad::TAPEGRAD_SCALAR::problems {

/// The tasks of a paper with these names, with their data and nets.
std::vector<lab::MatrixTask> make_tasks(const lab::Paper& paper,
                                        const std::vector<std::string>& names, const Origin& origin,
                                        Size size);

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
