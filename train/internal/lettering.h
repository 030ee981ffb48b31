#pragma once

#include <string>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::detail {

/// The strokes of a pen that write a line of ASCII text, as the data of an SVG path. No font is
/// needed to show them. The baseline begins at (0, 0). A box stands for any other character.
/// The unit is `pen_unit` of the size of a font.
std::string pen_strokes(const std::string& text);
inline constexpr double pen_unit = 1 / 19.5;

/// The width of a line of text in pen strokes, and about that in a sans-serif font.
///   size: of the font, in the unit of the result
double text_width(const std::string& text, double size);

}  // namespace tapegrad::TAPEGRAD_SCALAR::detail
