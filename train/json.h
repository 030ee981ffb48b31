#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

using Json = nlohmann::ordered_json;

/// What JSON text says; nothing for other text, for numbers that no double holds, and for lists and
/// objects nested deeper than `depth`, which would take as deep a recursion to write again.
std::optional<Json> parse_json(const std::string& text, int depth);

}  // namespace tapegrad::TAPEGRAD_SCALAR
