#include "experiments/matrix_task.h"

#include "experiments/selected_training.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

MatrixTask task_of(const PaperTask& task, const problems::Problem& problem) {
  MatrixTask result{
      .name = task.name,
      .source = problem.source,
      .data = problem.data,
      .configuration = {{"optimizer", in_words(problem.optimizer)},
                        {"initial values", problem.initial_values}},
      .rate = problem.rate,
      .steps = problem.steps,
      .seconds = problem.seconds,
      .train = [problem, metric = task.validation()](
                   const TaskTrial& trial) { return train_selected(problem, metric, trial); },
      .baselines = problem.baselines,
      .systems = task.trained.empty() ? task.systems : task.trained};
  for (const auto* added : {&task.forms, &task.remedies})
    result.systems.insert(result.systems.end(), added->begin(), added->end());
  for (const auto& [name, size] : problem.sizes.items()) result.configuration[name] = size;
  for (const std::string& system : problem.trained_baselines)
    result.baselines[system] = [train = result.train, system, rate = problem.rate] {
      return train({{system, rate}, {1}, true});
    };
  return result;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
