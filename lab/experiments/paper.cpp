#include "experiments/paper.h"

#include <algorithm>

#include "experiments/matrix.h"
#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR::lab {

Metric PaperTask::validation() const {
  if (chosen_by_loss) return {.value = "validation"};
  return {
      .value = "validation", .higher_is_better = metric.higher_is_better, .worst = metric.worst};
}

bool PaperTask::chooses_by(std::uint64_t seed) const {
  return choosing_seed <= seed && seed < choosing_seed + static_cast<std::uint64_t>(choosing_seeds);
}

std::vector<std::string> PaperTask::all_systems() const {
  std::vector<std::string> all = systems;
  all.insert(all.end(), forms.begin(), forms.end());
  all.insert(all.end(), remedies.begin(), remedies.end());
  return all;
}

double PaperTask::published_of(const std::string& system) const {
  const auto found = std::find(systems.begin(), systems.end(), system);
  return published.at(static_cast<std::size_t>(found - systems.begin()));
}

std::vector<std::string> names_of(const Paper& paper) {
  std::vector<std::string> names;
  for (const PaperTask& task : paper.tasks)
    if (task.absent.empty()) names.push_back(task.name);
  return names;
}

std::vector<std::string> systems_of(const Paper& paper) {
  std::vector<std::string> systems;
  for (const PaperTask& task : paper.tasks)
    for (const std::string& system : task.all_systems())
      if (std::ranges::count(systems, system) == 0) systems.push_back(system);
  return systems;
}

const PaperTask& Paper::task(const std::string& task) const {
  for (const PaperTask& each : tasks)
    if (each.name == task) return each;
  throw ArgumentError(fmt::format("{}: it is not a task of the paper", task));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::lab
