#pragma once

#include <string>
#include <vector>

#include "tapegrad/zoo/strokes.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// A line of pen moves with the digits that it draws, or none.
struct WrittenLine {
  Strokes moves;
  std::vector<Index> digits;
};

/// The digits of a text such as "31415". Throws ArgumentError for other characters and without any.
std::vector<Index> digits_of(const std::string& text);

/// Writes digits side by side with the strokes of `pen_strokes`, all in one random hand. Moves have
/// about length 1, and the places between them tremble a little, so that a density of moves has no
/// spikes. As in `stroke_lines`, the pen is down at first. Throws ArgumentError without digits.
WrittenLine write_digits(const std::vector<Index>& digits, Random& random);

/// Writes so many lines of 8 to 12 random digits.
std::vector<WrittenLine> write_lines(Index count, Random& random);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
