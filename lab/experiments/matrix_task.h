#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "experiments/detaching.h"
#include "problems/problem.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

/// A task of the paper with a net and data, so that systems can be trained on it.
struct MatrixTask {
  std::string name;    ///< of its `PaperTask`
  std::string source;  ///< where the data come from, for people
  std::string data;    ///< a digest
  /// All that runs depend on but norm, rate and seed; "optimizer" and "initial values" are
  /// words for people.
  Json configuration;
  double rate;     ///< the first learning rate to try, see `SettingSearch`
  Index steps;     ///< of a run
  double seconds;  ///< that a run takes, about, before the first one has been timed
  /// Returns the values "validation" and, if tested, "test", with items if the task's metric is
  /// their mean; see `train_selected` for the rest.
  std::function<Outcome(const TaskTrial&)> train;
  std::map<std::string, std::function<Outcome()>> baselines = {};  ///< with a value "test"
  std::vector<std::string> systems = paper_norms;                  ///< to train here
};

/// A problem, so that the systems of a task of a paper can be trained on it.
MatrixTask task_of(const PaperTask& task, const problems::Problem& problem);

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
