#pragma once

#include <string>

#include "experiments/matrix.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// A picture, and the numbers that it shows.
struct Picture {
  std::string image;   ///< SVG
  std::string values;  ///< CSV; empty if there are none
};

/// What detaching the mean, the scale or both costs, task by task: how much worse
/// each system is on the test set than layer_simple, in percent of layer_simple's value, with its
/// 95 % interval, and what is published. Shows the tasks that layer_simple has learned, and says
/// which detached system has not.
Picture detaching_costs(const Matrix& matrix);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
