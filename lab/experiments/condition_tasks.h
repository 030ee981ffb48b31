#pragma once

#include <string>
#include <vector>

#include "experiments/drift_tasks.h"
#include "experiments/matrix_task.h"
#include "experiments/paper.h"

/// Conditions of drift as tasks of a study, so that systems and rates are compared on them.
namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// A task of a study: a condition, and the systems to train in it.
struct ConditionTask {
  std::string name, title;
  Condition condition;
  double seconds;                    ///< of a run, about
  std::vector<std::string> systems;  ///< each for `norm_and_constraints`
  /// Whether norms and gradients are looked at, see `train_watched`. Needs norms in each system.
  bool is_watched = true;
};

/// A Transformer of 32 channels on the grammar, 300 steps: "pre_2_adam".
ConditionTask small_transformer(Index layers, const std::string& placement,
                                const std::string& optimizer, double seconds,
                                const std::vector<std::string>& systems, bool is_watched);
/// A study: at most eight rates, chosen by the mean validation loss of two seeds, and the seeds 201
/// to 210, whose last state is tested.
///   problems: columns of further tasks, see `problem_task`
Paper paper_of(const std::string& name, const std::vector<ConditionTask>& tasks,
               const std::vector<PaperTask>& problems);

/// Within which leads two systems are called equal on a task, fixed before any run: 0.02 bits,
/// 0.02 nats per move of a pen, 0.3 % of a convolutional network, 0.5 points of UAS, 1 % of a
/// perceptron.
double margin_of(const PaperTask& task);

/// The tasks with these names, with their data. Throws ArgumentError for an unknown name, and
/// DataError.
///   all: of the study   size: smoke: a few steps of a small net of the same form
std::vector<MatrixTask> condition_tasks(const std::vector<ConditionTask>& all,
                                        const std::vector<std::string>& names,
                                        const problems::Origin& origin, problems::Size size);

/// A problem as a task of a study: trained as conditions are, without its own optimizer, and tested
/// in its last state. Its `PaperTask` has the name and the systems.
///   is_watched: see `ConditionTask`
MatrixTask problem_task(const PaperTask& task, const problems::Problem& problem,
                        const std::string& optimizer, bool is_watched);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
