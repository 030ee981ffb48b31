#include "trainers/saved_net.h"

#include <optional>

#include "tapegrad/nn/files/checkpoint.h"
#include "tapegrad/nn/optimizers/ema.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

void load_saved_net(const TrainingFlags& flags, const Fields& net) {
  Checkpoint saved{.net = net};
  std::optional<Ema> averages;
  if (flags.optimizer.ema > 0) averages.emplace(parameters(net), flags.optimizer.ema);
  if (averages) saved.ema = &*averages;
  load_checkpoint(flags.run_flags.resume, saved);
  if (averages) averages->swap();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
