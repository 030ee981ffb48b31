#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "experiments/comparison.h"
#include "experiments/detaching.h"

/// What papers measured, and the tasks that stand for theirs here.
namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// What is said of two systems on a task: that `a` is better than `b`, or with a margin that they
/// are equal up to it.
struct PaperClaim {
  std::string a, b;
  std::string source;  ///< where the paper says so, such as "table 1"; empty: it is asked here
  std::optional<double> margin = {};
};

/// What the same runs come to on another test than that of the tables.
struct OtherTest {
  std::string value;  ///< its name among the values of an outcome
  std::string title;
};

/// A task of a paper, a column of its tables, and the task that stands for it here; or one that
/// asks more of such a task than the paper does, without published figures.
struct PaperTask {
  std::string name;            ///< in the ledger and on the command line
  std::string title;           ///< of its column here
  std::string of_paper;        ///< what the paper calls its task
  std::string unit;            ///< of the metric, in words
  std::string loss;            ///< of the curves: its unit
  Metric metric;               ///< of the test; its name among the values of an outcome is "test"
  int decimals;                ///< of what is measured here
  int published_decimals = 0;  ///< of what is published
  std::vector<double> published = {};  ///< of each system, if of all; infinite: it diverged
  std::vector<std::string> systems = paper_norms;
  std::vector<std::string> trained = {};  ///< those of them that are trained here; empty: all
  std::vector<std::string> forms =
      {};  ///< norms that are trained beside them, see lab/docs/forms.md
  std::vector<std::string> remedies = {};  ///< and norms with one, see `norm_and_remedy`
  std::string baseline = {};    ///< the baseline that a system must beat to have learned the task
  bool chosen_by_loss = false;  ///< settings and states, by the validation loss
  Index choosing_seeds = 1;     ///< from `choosing_seed` on, whose mean validation chooses settings
  std::string absent = {};      ///< why there are no data
  std::vector<PaperClaim> claims = {};
  std::vector<OtherTest> other_tests = {};
  Index fewest_seeds = 1;  ///< with which each system is trained, even if fewer are asked for

  /// The systems of the paper, the forms, and the norms with remedies.
  std::vector<std::string> all_systems() const;
  /// With how many seeds each system is trained if `asked` are asked for.
  Index seeds(Index asked) const { return std::max(asked, fewest_seeds); }
  /// Whether settings are chosen by runs with this seed.
  bool chooses_by(std::uint64_t seed) const;
  /// The metric of the validation, by which settings are chosen.
  Metric validation() const;
  /// What is published of a system, in the unit.
  double published_of(const std::string& system) const;
};

/// The tasks of a paper, in the order of its tables and figures.
struct Paper {
  std::string name;  ///< of its file in the ledger, and of its experiment
  std::vector<PaperTask> tasks;
  // At the size of the report:
  std::size_t most_rates = 7;    ///< that a norm may try
  std::uint64_t first_seed = 1;  ///< of the runs that are tested
  Index seeds = 3;               ///< of these runs

  /// Throws ArgumentError for an unknown name.
  const PaperTask& task(const std::string& task) const;
};
/// The names of its tasks that have data.
std::vector<std::string> names_of(const Paper& paper);
/// The systems of all its tasks.
std::vector<std::string> systems_of(const Paper& paper);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
