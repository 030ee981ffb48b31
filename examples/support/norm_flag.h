#pragma once

#include <string>

#include "support/flags.h"

namespace tapegrad::support {

/// `--norm`: any text that a NormSpec can be made from.
void add_norm_flag(Flags& flags, std::string& norm, const std::string& help);

}  // namespace tapegrad::support
