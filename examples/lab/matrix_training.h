#pragma once

#include "lab/matrix_task.h"
#include "lab/time_left.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// Trains what the ledger lacks of the tasks of Xu et al. 2019.
class MatrixTraining {
 public:
  struct Options {
    std::vector<std::string> systems = paper_norms;
    ComparisonFlags comparison;
    bool quiet = false;
  };
  /// The ledger begins anew for each task. All must outlive this.
  MatrixTraining(Cluster& cluster, Ledger& ledger, const Options& options);

  /// The columns of the tasks: the settings of all systems are tried, then the best of each is
  /// trained with every seed, and the baselines are computed. After each training a line on
  /// standard error says how long the others will take. Throws what `Comparison::train` throws.
  ///   experiment: the folder of the tasks in the ledger
  Matrix train(const std::string& experiment, const std::vector<MatrixTask>& tasks);

 private:
  Records train_column(const MatrixTask& task);
  /// The records of these systems, trained or from the ledger.
  Records train_systems(const MatrixTask& task, const ComparisonFlags& flags,
                        const std::vector<System>& systems);
  System system_of(const MatrixTask& task, const NormSetting& setting, bool tested);
  Outcome train_one(const MatrixTask& task, const TaskTrial& trial);
  /// How many trainings of a task the ledger lacks.
  Index lacking(const MatrixTask& task) const;

  Cluster& cluster_;
  Ledger& ledger_;
  const Options& options_;
  TimeLeft left_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
