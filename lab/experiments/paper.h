#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "experiments/comparison.h"
#include "experiments/detaching.h"

/// What papers measured, and the tasks that stand for theirs here: lab/papers has a file of each.
namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// A claim about two systems on a task: that `a` is better than `b`, or with a margin that they
/// are equal up to it.
struct PaperClaim {
  std::string a, b;
  std::string source;  ///< where in the paper, such as "table 1"; empty: it is asked here
  std::optional<double> margin = {};
  std::string judge = {};      ///< how it is judged, by the name of a rule; empty: by the test
  std::string statement = {};  ///< unless the rule makes it
};

/// What the same runs come to on another test than the tables'.
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
  std::vector<std::string> trained = {};  ///< which of them are trained here; empty: all
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

/// Two systems that are compared: `a` minus `b`.
struct SystemPair {
  std::string a, b;
};

/// What is published of a system, cell by cell.
struct PaperRow {
  std::string system, state, name;  ///< state: "test", or "untrained"
  std::vector<std::string> published;
};

/// A table of a paper. Its differences are those that the paper prints or speaks of.
struct PaperTable {
  int number;
  std::string title;
  std::vector<std::string> systems;
  std::vector<SystemPair> differences;
  std::vector<PaperRow> rows;
};

/// A curve of each system of a task.
struct PaperCurve {
  std::string task, name, title, unit;
  std::string trace;  ///< of a run; or "training" or "validation", its losses
  std::string axes;   ///< of the paper, in words
};

/// A figure of a paper: how systems learn. It has curves of the validation loss, or of both losses,
/// or those that it names.
struct PaperFigure {
  int number;
  std::string title;
  std::vector<std::string> systems, tasks;
  bool training;     ///< whether it shows the training loss, too
  std::string axes;  ///< of the paper, in words
  std::vector<PaperCurve> curves;
};

/// The tasks of a paper, in the order of its tables and figures.
struct Paper {
  std::string name;  ///< of its file in the ledger, and of its experiment
  std::vector<PaperTask> tasks;
  // At the size of the report:
  std::size_t most_rates = 7;    ///< that a norm may try
  std::uint64_t first_seed = 1;  ///< of the runs that are tested
  Index seeds = 3;               ///< of these runs
  std::vector<PaperTable> tables = {};
  std::vector<PaperFigure> figures = {};

  /// All throw ArgumentError for what is unknown.
  const PaperTask& task(const std::string& task) const;
  const PaperTable& table(int number) const;
};

/// The paper in the text of a file, see lab/papers/README.md. Throws ArgumentError for other text.
Paper read_paper(const std::string& text);

/// What Xu et al. 2019 measured: seven systems (`paper_norms`) on eight tasks, in tables 1 to 4 and
/// figures 1 to 3. Two more tasks ask what its own cannot show: whether a difference outlasts
/// another split of the data, and whether a net that can learn its text by heart overfits.
const Paper& xu2019();
/// What Ba et al. 2016 measured: layer normalization in six experiments, in tables 2 and 3 and
/// figures 1 to 6. Systems go by the name of their norm; other names are explained by the tasks.
const Paper& ba2016();

/// The names of its tasks that have data.
std::vector<std::string> names_of(const Paper& paper);
/// The systems of all its tasks.
std::vector<std::string> systems_of(const Paper& paper);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
