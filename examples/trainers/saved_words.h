#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tapegrad/train/json.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// The words of a vocabulary that a checkpoint notes; nothing for notes of another form, and if a
/// word is there twice.
std::optional<std::vector<std::string>> saved_words(const Json& note);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
