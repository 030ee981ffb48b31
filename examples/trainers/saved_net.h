#pragma once

#include "tapegrad/nn/fields.h"
#include "tapegrad/train/optimizer_flags.h"
#include "tapegrad/train/run_flags.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Gives a net the weights of the checkpoint of --resume: the best ones with --keep-best, averages
/// with --ema. For programs that do not go on with the training. Throws DataError.
void load_saved_net(const RunFlags& run, const OptimizerFlags& optimizer, const Fields& net);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
