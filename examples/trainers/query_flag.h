#pragma once

#include <string>

#include "tapegrad/train/flags.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Adds --query, which asks the net of --resume in place of training it. Its text must not be
/// blank.
void add_query_flag(Flags& flags, std::string& query, const std::string& description);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
