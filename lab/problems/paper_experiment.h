#pragma once

#include <functional>
#include <string>
#include <vector>

#include "experiments/matrix_training.h"
#include "experiments/study.h"

/// Studies whose systems and tasks are a matrix, as experiments that repeat what a paper measured.
namespace tapegrad::TAPEGRAD_SCALAR::problems {

/// The values of --size: smoke or report.
inline Size problem_size(const std::string& size) {
  return size == "smoke" ? Size::smoke : Size::report;
}
/// How many rates a norm may try at that size, see `SettingSearch`.
inline std::size_t most_rates(const lab::Paper& paper, const std::string& size) {
  return size == "smoke" ? 2 : paper.most_rates;
}

/// The tasks of a paper with these names, with their data and nets.
std::vector<lab::MatrixTask> make_tasks(const lab::Paper& paper,
                                        const std::vector<std::string>& names, const Origin& origin,
                                        Size size);

/// Takes the seeds of the paper's report, at that size, unless users have chosen others. Throws
/// FlagError if the seeds include the one by which settings are chosen.
void choose_seeds(const lab::Paper& paper, lab::StudyRun& run);

/// --data of experiments with the data sets of papers.
lab::DataFlag data_sets_flag(const std::string& more);

/// What users of such an experiment choose.
struct PaperFlags {
  std::string only;
  std::vector<std::string> tasks;         ///< to train
  std::vector<std::string> systems = {};  ///< to train; empty: all of each task

  /// The number of the table or figure to show; 0: all.
  int number() const { return only.empty() ? 0 : only.back() - '0'; }
};

struct PaperExperiment {
  const lab::Paper& paper;
  std::string summary;       ///< one sentence
  std::string title;         ///< of its page
  std::string introduction;  ///< what is particular to it, before what all of them do
  std::string tested;        ///< which state of a run is tested, a sentence
  std::string of_data = {};  ///< written with --data alone
  std::string part = {};     ///< what --only names: "table" or "figure"
  int parts = 0;             ///< how many there are
  /// Keeps the tasks or systems of the table or figure that was chosen.
  std::function<void(PaperFlags&)> choose = {};
  ///   number: of the table or figure to show; 0: all
  std::function<void(lab::StudyRun&, const lab::Matrix&, int number)> report;
  /// Makes the tasks with these names, if `make_tasks` does not.
  std::function<std::vector<lab::MatrixTask>(const std::vector<std::string>& names,
                                             const Origin& origin, Size size)>
      make = {};

  /// The tasks that are trained unless users choose others.
  std::vector<std::string> usual_tasks() const;
  std::vector<lab::MatrixTask> make_tasks(const std::vector<std::string>& names,
                                          const lab::StudyRun& run) const;
  /// Trains what the ledger lacks and reports.
  lab::Study study() const;
};

/// All of them, for the experiment `queue`.
std::vector<PaperExperiment (*)()>& paper_experiments();

/// A file enters its experiment with a global object of this type.
struct PaperEntry {
  explicit PaperEntry(PaperExperiment (*make)()) : entry([make] { return make().study(); }) {
    paper_experiments().push_back(make);
  }
  registry::Entry entry;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
