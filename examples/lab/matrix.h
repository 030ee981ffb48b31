#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lab/ledger.h"
#include "lab/paper.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// What each system may choose on the validation set: a form of its norm, and the learning rate.
struct NormSetting {
  std::string norm;  ///< for `NormSpec`: "ada:c=2"; or a system that the task knows
  double rate;

  /// "ada:c=2@0.003": its folder in the ledger
  std::string name() const;
  /// The system of the paper: "ada".
  std::string system() const;
};

/// The seed with which settings are tried.
inline constexpr std::uint64_t choosing_seed = 101;

/// How one of the trainings of a task is done.
struct TaskTrial {
  NormSetting setting;
  Trial trial;
  bool tested;  ///< whether the test set is scored: not when settings are chosen
  std::function<void(Index step, double loss)> seen = {};  ///< called after each step
};

/// The trainings of a system on a task, with the setting whose validation was the best.
struct MatrixCell {
  std::string setting;
  Results results;                     ///< of the seeds that have been trained
  std::vector<std::uint64_t> missing;  ///< the other seeds
  std::size_t tried = 0;               ///< settings
};

/// A task, and what the ledger has of it.
struct MatrixColumn {
  PaperTask task;         ///< with the bar that systems must clear as the baseline of its metric
  std::string data = {};  ///< a digest; empty if nothing has been trained
  std::string optimizer = {}, initial = {};  ///< what was trained, in words: "Adam", initial values
  std::map<std::string, MatrixCell> cells = {};  ///< by system
  std::map<std::string, double> baselines = {};

  /// The trainings of a system; null unless all have been done.
  const Results* of(const std::string& system) const;
};

/// Systems times tasks, in the order of the paper.
using Matrix = std::vector<MatrixColumn>;

/// The column of a task from its records. Records without an "@" in the name of their system are
/// baselines. A setting is chosen by its training with `choosing_seed`.
///   first, count: of the seeds that a complete cell has, unless the task needs more
MatrixColumn make_column(const PaperTask& task, const Records& records, std::uint64_t first,
                         Index count);

/// What the ledger has of all tasks of a paper. Throws what `Ledger::records` throws.
Matrix read_matrix(const Paper& paper, Ledger& ledger, std::uint64_t first, Index count);

/// Of these settings, as named in the records of one system, the one with the best validation; ""
/// if none was tried.
std::string best_setting(const PaperTask& task, const std::string& system, const Records& records);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
