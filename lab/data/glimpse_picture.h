#pragma once

#include <string>
#include <vector>

#include "tapegrad/zoo/draw.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// Images that DRAW draws, glimpse by glimpse.
struct DrawnImages {
  std::string title;
  std::vector<Draw::Glimpse> glimpses;
  Tensor originals = {};  ///< (B, height, width), if there are any
};

/// An SVG image with a row for each drawn image: the original, if there is one, then the canvas
/// after each step. A red frame shows where the step has read, a blue one where it has written:
/// from the centers of the first filters to the centers of the last, cut at the image's border.
std::string glimpse_picture(const std::vector<DrawnImages>& groups, const DrawOptions& options);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
