#pragma once

#include <cstdint>
#include <vector>

#include "tapegrad/core/random.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// The side of a drawn digit, in pixels.
constexpr Index digit_side = 28;

/// Draws `digit` (0 to 9) as if by hand: white strokes on black, with random shape, slant, size,
/// place, thickness and noise. Returns 28 x 28 pixels in row-major order.
std::vector<std::uint8_t> draw_digit(int digit, Random& random);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
