#pragma once

#include <string>
#include <vector>

#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// A line that a pen has written.
struct PenLine {
  std::string title;
  Tensor moves;         ///< (T, 3): dx, dy and 1 where the pen is lifted
  std::string text;     ///< its words, if they are known
  Tensor weights = {};  ///< of its characters in the window at each move, (T, U); or undefined
};

/// An SVG image with the lines, one below the other, all to one scale. Where a window has moved
/// along the text, its characters have the colors blue and orange in turn, by which one weighs
/// most, and a curve below shows move by move where on the text the window is.
std::string handwriting_picture(const std::vector<PenLine>& lines);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
