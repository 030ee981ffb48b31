#pragma once

#include <functional>
#include <string>
#include <vector>

#include "experiments/matrix_training.h"
#include "experiments/registry.h"
#include "experiments/report.h"

/// Experiments that repeat what a paper measured: one driver for all papers.
namespace tapegrad::TAPEGRAD_SCALAR::problems {

/// What --size says: smoke or report.
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

/// Takes the seeds of the paper's report, unless users have chosen others.
void use_seeds_of(const lab::Paper& paper, const Flags& given, lab::ComparisonFlags& comparison);

/// Throws FlagError if the seeds include the one by which settings are chosen.
void check_seeds(const lab::Paper& paper, const lab::ComparisonFlags& comparison);

/// What users of such an experiment choose.
struct PaperFlags {
  std::string size = "smoke", only, data;
  std::vector<std::string> tasks;  ///< to train
  bool from_ledger = false;
  lab::MatrixTraining::Options training{.comparison = {.seeds = lab::least_seeds}};

  /// The number of the table or figure to show; 0: all.
  int number() const { return only.empty() ? 0 : only.back() - '0'; }
};

struct PaperExperiment {
  const lab::Paper& paper;
  std::string title;         ///< of its page
  std::string introduction;  ///< what is particular to it, before what all of them do
  std::string tested;        ///< which state of a run is tested, a sentence
  std::string of_data;       ///< said with --data alone
  std::string part;          ///< what --only names: "table" or "figure"
  int parts;                 ///< how many there are
  /// Reduces tasks or systems to those of the table or figure that was chosen.
  std::function<void(PaperFlags&)> choose;
  std::function<void(lab::Report&, const lab::Matrix&, const PaperFlags&)> report;
  /// Makes the tasks with these names, if `make_tasks` does not.
  std::function<std::vector<lab::MatrixTask>(const std::vector<std::string>& names,
                                             const Origin& origin, Size size)>
      make = {};

  /// Parses flags, trains what the ledger lacks and reports. Returns the exit code of the program.
  int run(const registry::Experiment& self, int argc, char** argv) const;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::problems
