#pragma once

#include "tapegrad/core/shape.h"
#include "tapegrad/nn/functions/height_width.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// How windows move along one axis of an image.
struct WindowMoves {
  Index size, stride, padding;
};

/// The number of windows along an axis of an image of this shape. With `ceil_mode`, the last one
/// may reach beyond the padding, if it begins before it. Throws ArgumentError for sizes and strides
/// below 1 and negative padding, ShapeError if no window fits.
Index window_count(const char* operation, const Shape& image, int axis, const WindowMoves& moves,
                   bool ceil_mode = false);

/// The number that an operation along one axis was given. Throws ArgumentError if it was given two.
Index only_number(const char* operation, const char* option, const HeightWidth& given);

}  // namespace tapegrad::TAPEGRAD_SCALAR
