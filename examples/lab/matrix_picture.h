#pragma once

#include <string>

#include "lab/matrix.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// What detaching the mean, the scale or both costs, task by task, as an SVG image: how much worse
/// each system is on the test set than layer_simple, in percent of layer_simple's value, with its
/// 95 % interval, and what is published. Shows the tasks on which layer_simple and a detached
/// system have been trained and have learned.
std::string detaching_costs(const Matrix& matrix);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
