#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A number for each axis of an image: one along its height and one along its width. A single
/// number stands for both.
/// Example: `max_pool2d(images, {.size = {2, 4}})`
struct HeightWidth {
  Index height, width;

  constexpr HeightWidth(Index both) : height(both), width(both) {}
  constexpr HeightWidth(Index along_height, Index along_width)
      : height(along_height), width(along_width) {}
};

}  // namespace tapegrad::TAPEGRAD_SCALAR
