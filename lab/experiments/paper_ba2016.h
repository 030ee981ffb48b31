#pragma once

#include "experiments/paper.h"

/// What Ba et al. 2016 measured: layer normalization in six experiments, in tables 2 and 3 and
/// figures 1 to 6.
namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// The tasks that stand for its experiments, in the order of the figures. Systems go by the name of
/// their norm; other names are explained by the tasks.
const Paper& ba2016();

/// The figure of a task, or of several; all of them in order.
struct FigureOfPaper {
  int number;
  std::string title;
  std::vector<std::string> tasks;
};
extern const std::vector<FigureOfPaper> ba2016_figures;

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
