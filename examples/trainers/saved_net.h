#pragma once

#include "tapegrad/nn/fields.h"
#include "tapegrad/train/training_flags.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Gives a net the weights of the checkpoint of --resume, or, with --ema, their averages. For
/// programs that do not go on with the training. Throws DataError.
void load_saved_net(const TrainingFlags& flags, const Fields& net);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
