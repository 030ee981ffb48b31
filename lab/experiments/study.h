#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "experiments/comparison.h"
#include "experiments/registry.h"
#include "experiments/report.h"
#include "tapegrad/train/progress.h"

/// Studies, and the one driver of them all: a study is what an experiment has of its own.
namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// A study under way: what its users have chosen, and where its results go.
struct StudyRun {
  std::string name, title;  ///< of its page
  std::string size = {}, data = {};
  ComparisonFlags comparison = {.seeds = 1};
  bool from_ledger = false, quiet = false;
  const Flags* flags = nullptr;
  Cluster* cluster = nullptr;  ///< null if nothing is trained
  Report report = {};
  Ledger ledger = {};

  bool is_report() const { return size == "report"; }
  Random random() const { return Random(comparison.seed); }
  /// Shown by one process. Steps count over all runs; otherwise none is shown as done.
  Progress progress(Index steps) const;
  /// The runs of these systems with each seed: trains what the ledger lacks, or throws DataError
  /// for it with --from-ledger. The ledger must have begun.
  ///   trained: as for `Comparison::train`; not called with --from-ledger
  std::vector<Results> train(const std::vector<System>& systems,
                             const std::function<void(const Results&)>& trained = {}) const;
};

/// The flag --data of a study.
struct DataFlag {
  std::string help = {};  ///< empty: there is no such flag
  std::string environment = {};
};
/// MNIST in images, or digits that the program draws.
DataFlag digits_flag();

/// What is particular to an experiment. The driver owns the flags that studies share, the page, the
/// processes and the exit code.
struct Study {
  std::string name;     ///< on the command line, of its page, and of its file in the ledger
  std::string summary;  ///< one sentence
  std::string title;    ///< of its page
  std::string introduction = {};  ///< the first paragraph, if users cannot change it
  std::string sizes = {};         ///< what --size means, in words; empty: there is one size
  std::string size = "smoke";     ///< the usual one
  Index seeds = 0;                ///< usual runs of each system; 0: nothing is trained
  Index fewest_seeds = 1;
  bool chooses = false;   ///< with `choosing_seed`, so that no run may have it
  std::string seed = {};  ///< what --seed is the seed of, where nothing is trained
  DataFlag data = {};
  bool has_page = true;  ///< if not, it shows nothing from the ledger either
  /// Adds its own flags, which may check what has been chosen with `Flags::checks`.
  std::function<void(Flags& flags, StudyRun& run)> add_to = {};
  /// Measures or trains, and reports.
  std::function<void(StudyRun& run)> run = {};

  /// For the registry: parses flags, runs and writes the page.
  operator registry::Experiment() const;
};

/// The study with the flags of `Own`, which are its members, and a report that is made with them.
template <class Own>
Study with_flags(Study study, void (*run)(StudyRun& run, const Own& own)) {
  const auto own = std::make_shared<Own>();
  study.add_to = [own](Flags& flags, StudyRun& chosen) { own->add_to(flags, chosen); };
  study.run = [own, run](StudyRun& chosen) { run(chosen, *own); };
  return study;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
