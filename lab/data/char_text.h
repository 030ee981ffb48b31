#pragma once

#include <string>

#include "tapegrad/core/indices.h"
#include "tapegrad/io/text.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// A text for a character-level model, with its last tenth held out.
struct CharText {
  Characters characters;
  Indices training, rest;

  explicit CharText(const std::string& text);
  /// A hash of both parts.
  std::string digest() const;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
