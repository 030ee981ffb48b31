#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tapegrad/train/json_fwd.h"
#include "tapegrad/train/metrics.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Parses JSON. Returns nothing for other text, for an object that has a name twice, for numbers
/// out of the range of double, and for lists and objects nested deeper than `depth`, which would
/// need as deep a recursion to write again.
/// Example: `parse_json("{\"loss\": 0.5}", 2).value()["loss"]`
std::optional<Json> parse_json(const std::string& text, int depth);

/// Converts metrics as logs have them: with null for numbers that are not finite.
/// Example: `Json(Metrics{{"loss", 0.5}}).dump()`
void to_json(Json& json, const Metrics& metrics);

/// The text with U+FFFD in place of bytes that are not valid UTF-8, as JSON and pages require.
/// Example: `valid_utf8("\xff")`
std::string valid_utf8(const std::string& text);

}  // namespace tapegrad::TAPEGRAD_SCALAR
