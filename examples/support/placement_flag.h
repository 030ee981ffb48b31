#pragma once

#include <string>

#include "tapegrad/nn/layers/recurrent.h"
#include "tapegrad/train/flags.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// The flag --norm-placement: where an LSTM normalizes, by the names of CellNormPlacement.
void add_placement_flag(Flags& flags, std::string& placement);
/// The placement of one of those names.
CellNormPlacement norm_placement(const std::string& name);

/// LSTMs with a norm and a placement of these names. Without a norm, the placement is ignored.
RecurrentOptions recurrent_options(const std::string& norm, const std::string& placement);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
