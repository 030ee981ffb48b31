#pragma once

#include <string>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// A text from outside as valid UTF-8 without control characters, fit for pages and pictures.
std::string readable(const std::string& text);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
