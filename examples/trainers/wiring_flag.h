#pragma once

#include <string>

#include "tapegrad/nn/layers/recurrent.h"
#include "tapegrad/train/flags.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// A flag for where an LSTM normalizes, by the names of NormWiring.
void add_wiring_flag(Flags& flags, const std::string& flag, std::string& wiring);
/// The wiring of one of those names.
NormWiring norm_wiring(const std::string& name);

/// LSTMs with a norm and a wiring of these names. Without a norm, the wiring says nothing.
RecurrentOptions recurrent_options(const std::string& norm, const std::string& wiring);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
