#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/comparison.h"

/// What Xu et al. 2019 measured: seven systems (`paper_norms`) on eight tasks, in tables 1 to 4 and
/// figures 1 to 3.
namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// Two systems that are compared: `a` minus `b`.
struct SystemPair {
  std::string a, b;
};

/// What the paper says of two systems on a task: that `a` is better than `b`, or with a margin that
/// they are equal up to it.
struct PaperClaim {
  std::string a, b;
  std::optional<double> margin = {};
};

/// A task of the paper, a column of its tables, and the task that stands for it here.
struct PaperTask {
  std::string name;        ///< in the ledger and on the command line
  std::string title;       ///< of its column here
  std::string of_paper;    ///< what the paper calls its task
  std::string unit;        ///< of the metric, in words
  std::string loss;        ///< of the curves: its unit
  Metric metric;           ///< of the test; its name among the values of an outcome is "test"
  int decimals;            ///< of what is measured here
  int published_decimals;  ///< of what is published
  std::vector<double> published;  ///< of each system, as in `paper_norms`; infinite: it diverged
  std::string bar = {};           ///< the baseline that a system must beat to have learned the task
  bool chosen_by_loss = false;    ///< settings and states, by the validation loss
  std::string absent = {};        ///< why there are no data
  std::vector<PaperClaim> claims = {};

  /// The metric of the validation, by which settings are chosen.
  Metric validation() const;
  /// What is published of a system, in the unit.
  double published_of(const std::string& system) const;
};

/// All of them, in the order of the tables.
const std::vector<PaperTask>& paper_tasks();
/// Throws ArgumentError for an unknown name.
const PaperTask& paper_task(const std::string& name);

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
