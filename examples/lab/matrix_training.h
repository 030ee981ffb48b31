#pragma once

#include "lab/matrix_task.h"
#include "lab/time_left.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// Trains what the ledger lacks of the tasks of a paper.
class MatrixTraining {
 public:
  struct Options {
    std::vector<std::string> systems = {};  ///< to train; empty: all of each task
    ComparisonFlags comparison;
    bool quiet = false;
  };
  /// The ledger begins anew for each task. All must outlive this.
  MatrixTraining(Cluster& cluster, Ledger& ledger, const Options& options);

  /// The columns of the tasks: the settings of all systems are tried, then the best of each is
  /// trained with every seed, and the baselines are computed. After each training a line on
  /// standard error says how long the others will take. Throws what `Comparison::train` throws.
  ///   tasks: some of the paper's
  Matrix train(const Paper& paper, const std::vector<MatrixTask>& tasks);

 private:
  Records train_column(const PaperTask& of_paper, const MatrixTask& task);
  /// The records of these systems, trained or from the ledger.
  Records train_systems(const MatrixTask& task, const ComparisonFlags& flags,
                        const std::vector<System>& systems);
  System system_of(const MatrixTask& task, const NormSetting& setting, bool tested);
  Outcome train_one(const MatrixTask& task, const TaskTrial& trial);
  /// How many trainings of a task the ledger lacks.
  Index lacking(const PaperTask& of_paper, const MatrixTask& task) const;
  /// The flags with as many seeds as the task has.
  ComparisonFlags flags_of(const PaperTask& of_paper) const;

  Cluster& cluster_;
  Ledger& ledger_;
  const Options& options_;
  TimeLeft left_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
