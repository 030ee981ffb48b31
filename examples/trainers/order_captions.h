#pragma once

#include "tapegrad/train/trainer.h"
#include "trainers/order_flags.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Learns which captions describe which images, or with --query, finds images for a caption.
/// Returns the exit code of the program.
int run_captions(const OrderFlags& flags, Trainer& trainer);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
