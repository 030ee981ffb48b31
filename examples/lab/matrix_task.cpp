#include "lab/matrix_task.h"

#include <algorithm>

#include "lab/selected_training.h"

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
  for (const auto& [name, size] : problem.sizes.items()) result.configuration[name] = size;
  for (const std::string& system : problem.trained_baselines)
    result.baselines[system] = [train = result.train, system, rate = problem.rate] {
      return train({{system, rate}, {1}, true});
    };
  return result;
}

std::vector<NormSetting> settings_to_try(const MatrixTask& task,
                                         const std::vector<std::string>& systems) {
  std::vector<NormSetting> settings;
  for (const std::string& system : task.systems) {
    if (!systems.empty() && std::count(systems.begin(), systems.end(), system) == 0) continue;
    const std::vector<std::string> forms =
        system == "ada" ? std::vector<std::string>{"ada:c=0.5", "ada:c=1", "ada:c=2"}
                        : std::vector{system};
    for (const std::string& form : forms)
      for (const double factor : {1, 3}) settings.push_back({form, factor * task.rate});
  }
  return settings;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
