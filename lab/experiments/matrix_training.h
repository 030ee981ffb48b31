#pragma once

#include "experiments/matrix_task.h"
#include "experiments/time_left.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// A run that the ledger lacks.
struct MissingRun {
  const MatrixTask* task;
  std::string system;
  NormSetting setting;
  std::uint64_t seed;
  bool tested;           ///< whether the setting has been chosen, so that the test set is scored
  std::size_t finished;  ///< how many runs the ledger has of its system
};

/// Trains what the ledger lacks of the tasks of a paper.
class MatrixTraining {
 public:
  struct Options {
    std::vector<std::string> systems = {};  ///< to train; empty: all of each task
    ComparisonFlags comparison;
    std::size_t most_rates = 2;  ///< see `SettingSearch`
    bool quiet = false;
    double rate = 0;  ///< of `missing`, for the seeds of chosen systems; 0: the best of each system
  };
  /// The ledger begins anew for each task. All must outlive this.
  MatrixTraining(Cluster& cluster, Ledger& ledger, const Options& options);

  /// The columns of the tasks: all systems try settings, then the best of each is trained with
  /// every seed, and the baselines are computed. After each run a line on standard error has
  /// how long the others will take. Throws what `Comparison::train` throws.
  ///   tasks: some of the paper's
  Matrix train(const Paper& paper, const std::vector<MatrixTask>& tasks);

  /// Computes the baselines and trains what is missing, one run at a time, of the least
  /// finished system first. Leaves out what another process is at. Ends when nothing is missing.
  /// Throws what `Ledger::claim` and `Ledger::outcome` throw. The ledger needs --runs.
  void train_missing(const Paper& paper, const std::vector<MatrixTask>& tasks);

  /// What the ledger lacks and can be trained now: the rates that a system tries next, or the seeds
  /// of its best setting, or of its best norm at the rate of the options. Systems in the order of
  /// the task. Throws what `Ledger::records` and `expect_measured` throw, and DataError if the
  /// ledger has runs of another configuration.
  std::vector<MissingRun> missing(const Paper& paper, const MatrixTask& task);

 private:
  void begin(const Paper& paper, const MatrixTask& task);
  /// Computes what the ledger lacks of the task's baselines; false if another process is at one.
  bool has_baselines(const Paper& paper, const MatrixTask& task);
  Records train_column(const PaperTask& of_paper, const MatrixTask& task);
  /// The records of these systems, trained or from the ledger.
  Records train_systems(const MatrixTask& task, const ComparisonFlags& flags,
                        const std::vector<System>& systems);
  System system_of(const MatrixTask& task, const NormSetting& setting, bool tested);
  Outcome train_one(const MatrixTask& task, const TaskTrial& trial);
  /// About how many runs of a task this process has left, given what is missing now.
  Index left(const Paper& paper, const std::vector<MissingRun>& missing) const;
  /// The systems of the task that are to be trained.
  std::vector<std::string> systems_of(const MatrixTask& task) const;
  /// The flags with as many seeds as the task has.
  ComparisonFlags flags_of(const PaperTask& of_paper) const;

  Cluster& cluster_;
  Ledger& ledger_;
  const Options& options_;
  TimeLeft left_;
};

/// Changes what a tested run of a system on a task returns.
using ChangeOutcome =
    std::function<void(const std::string& task, const std::string& system, Outcome& outcome)>;
/// The matrix of these tasks, each system trained once, with faults in what runs return.
Matrix train_faulty(const Paper& paper, std::vector<MatrixTask> tasks, const ChangeOutcome& change);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
