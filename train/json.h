#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Example: `const Json results{{"loss", 0.5}, {"classes", {1, 2}}}`
using Json = nlohmann::ordered_json;

/// Parses JSON. Returns nothing for other text, for an object that has a name twice, for numbers
/// out of the range of double, and for lists and objects nested deeper than `depth`, which would
/// need as deep a recursion to write again.
/// Example: `parse_json("{\"loss\": 0.5}", 2).value()["loss"]`
std::optional<Json> parse_json(const std::string& text, int depth);

/// The text with U+FFFD in place of bytes that are not valid UTF-8, as JSON and pages require.
/// Example: `valid_utf8("\xff")`
std::string valid_utf8(const std::string& text);

}  // namespace tapegrad::TAPEGRAD_SCALAR
