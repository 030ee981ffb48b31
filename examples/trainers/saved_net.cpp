#include "trainers/saved_net.h"

#include <optional>

#include "tapegrad/nn/files/checkpoint.h"
#include "tapegrad/nn/optimizers/ema.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

void load_saved_net(const RunFlags& run, const OptimizerFlags& optimizer, const Fields& net) {
  Checkpoint saved{.net = net};
  std::optional<Ema> averages;
  // The best ones are averages already.
  if (optimizer.ema > 0 && !run.keep_best) averages.emplace(parameters(net), optimizer.ema);
  if (averages) saved.ema = &*averages;
  load_checkpoint(run.resume, saved);
  if (averages) averages->swap();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
