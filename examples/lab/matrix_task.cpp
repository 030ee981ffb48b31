#include "lab/matrix_task.h"

#include <algorithm>

namespace tapegrad::TAPEGRAD_SCALAR::lab {

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
