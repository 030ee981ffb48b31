#pragma once

#include "tapegrad/train/trainer.h"
#include "trainers/order_flags.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Learns which concepts are kinds of which, or with --query, shows the order around a concept.
/// Returns the exit code of the program.
int run_hypernyms(const OrderFlags& flags, Trainer& trainer);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
