#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/ledger.h"
#include "experiments/paper.h"
#include "experiments/rate_search.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// What each system may choose on the validation set: a form of its norm, and the learning rate.
struct NormSetting {
  std::string norm;  ///< for `NormSpec`: "ada:c=2"; or a system that the task knows
  double rate;

  /// The setting with this name; none for the name of a baseline.
  static std::optional<NormSetting> named(std::string_view name);
  /// With the rate as the name has it, to three digits.
  static NormSetting rounded(const std::string& norm, double rate);
  /// "ada:c=2@0.003": its name in the ledger
  std::string name() const;
};

/// How one of the runs of a task is done.
struct TaskTrial {
  NormSetting setting;
  Trial trial;
  bool tested;  ///< whether the test set is scored: not when settings are chosen
  std::function<void(Index step, double loss)> seen = {};  ///< called after each step
};

/// What a system has tried to find its best setting: learning rates of each of its norms. AdaNorm
/// has three, with c of 0.5, 1 and 2; every other system is a norm itself.
struct SettingSearch {
  std::map<std::string, RateSearch> rates;  ///< by norm

  /// The search for a system without any tried setting.
  explicit SettingSearch(const std::string& system);
  /// What records have, by the mean validation of the task's choosing seeds, where they have all.
  SettingSearch(const PaperTask& task, const std::string& system, const Records& records);

  std::size_t tried() const;
  /// The setting of the least validation error. Throws ArgumentError if none has been tried.
  NormSetting best() const;
  /// `RateSearch::is_interior` of the norm of the best setting.
  bool is_interior() const;
  /// The settings to try next: with the rate `first` and its triple, if they have not been tried,
  /// then, one at a time, rates further out for the best norm, until the best is interior or `most`
  /// have been tried. None when the search is done.
  std::vector<NormSetting> next(double first, std::size_t most) const;
};

/// The runs of a system on a task, with the setting whose validation was the best.
struct MatrixCell {
  std::string setting;
  Results results;                     ///< of the seeds that have been trained
  std::vector<std::uint64_t> missing;  ///< the other seeds
  std::size_t tried = 0;               ///< settings
  bool is_interior = false;            ///< see `SettingSearch`
  std::vector<Outcome> choosing = {};  ///< of the seeds by which the setting was chosen
};

/// A task, and what the ledger has of it.
struct MatrixColumn {
  PaperTask task;                            ///< its baseline is its metric's, too
  std::string data = {};                     ///< a digest; empty if nothing has been trained
  std::string optimizer = {}, initial = {};  ///< what was trained, in words: "Adam", initial values
  std::map<std::string, MatrixCell> cells = {};  ///< by system
  std::map<std::string, double> baselines = {};

  /// The runs of a system; null unless all have been done.
  const Results* of(const std::string& system) const;
};

/// Systems times tasks, in the order of the paper.
using Matrix = std::vector<MatrixColumn>;

/// The column of a task from its records. Records without an "@" in the name of their system are
/// baselines. A setting is chosen by its training with the choosing seeds.
///   first, count: of the seeds that a complete cell has, unless the task needs more
/// Throws what `expect_measured` throws.
MatrixColumn make_column(const PaperTask& task, const Records& records, std::uint64_t first,
                         Index count);

/// Throws DataError, naming the run, unless each has what the tables of its task need: the value of
/// the validation or of the test, test items where the metric is their mean, and, but for
/// baselines, a curve.
void expect_measured(const PaperTask& task, const Records& records);

/// What the ledger has of all tasks of a paper. Throws what `Ledger::records` throws.
Matrix read_matrix(const Paper& paper, Ledger& ledger, std::uint64_t first, Index count);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
