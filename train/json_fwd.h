#pragma once

#include <nlohmann/json_fwd.hpp>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A program that makes or reads such values includes `tapegrad/train/json.h`. That header takes
/// long to compile, so `tapegrad/train.h` leaves it out.
/// Example: `const Json configuration{{"rate", 0.5}, {"classes", {1, 2}}}`
using Json = nlohmann::ordered_json;

}  // namespace tapegrad::TAPEGRAD_SCALAR
