#pragma once

#include <string>

#include "tapegrad/train/flags.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// `--norm`: any text that NormSpec accepts.
/// Example: `std::string norm = "layer"; add_norm_flag(flags, norm, "Normalization of the net")`
void add_norm_flag(Flags& flags, std::string& norm, const std::string& help);

}  // namespace tapegrad::TAPEGRAD_SCALAR
