#pragma once

#include <string>
#include <vector>

#include "experiments/paper.h"

/// What Xu et al. 2019 measured: seven systems (`paper_norms`) on eight tasks, in tables 1 to 4 and
/// figures 1 to 3. Two more tasks ask what its own cannot tell: whether a difference outlasts
/// another split of the data, and whether a net that can learn its text by heart overfits.
namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// Its tasks, in the order of the tables, and those beside them, without published figures.
const Paper& xu2019();

/// Two systems that are compared: `a` minus `b`.
struct SystemPair {
  std::string a, b;
};

/// A table of the paper. Its differences are those that the paper prints or speaks of.
struct PaperTable {
  int number;
  std::string title;
  std::vector<std::string> systems;
  std::vector<SystemPair> differences;
};
extern const std::vector<PaperTable> paper_tables;

/// A figure of the paper: how two systems learn. It has curves of the validation loss, or of both
/// losses.
struct PaperFigure {
  int number;
  std::string title;
  std::vector<std::string> systems, tasks;
  bool training;     ///< whether it shows the training loss, too
  std::string axes;  ///< of the paper, in words
};
extern const std::vector<PaperFigure> paper_figures;

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
