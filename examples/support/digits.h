#pragma once

#include <cstdint>
#include <vector>

#include "tapegrad/core/random.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// The side of a drawn digit, in pixels.
constexpr Index digit_side = 28;

/// A place on an image, in pixels from its upper left corner, to the right and down.
struct PenPlace {
  double x, y;
};
inline PenPlace operator+(PenPlace a, PenPlace b) { return {a.x + b.x, a.y + b.y}; }
inline PenPlace operator-(PenPlace a, PenPlace b) { return {a.x - b.x, a.y - b.y}; }
inline PenPlace operator*(double factor, PenPlace a) { return {factor * a.x, factor * a.y}; }

/// How somebody writes digits, at random: how large, slanted and rotated, and where on the image.
class Hand {
 public:
  explicit Hand(Random& random);

  /// The width of a digit in pixels, before it is slanted.
  double width() const { return wide_; }
  /// Where a place in the box of a digit, from (0, 0), its upper left, to (1, 1), is on the image.
  PenPlace operator()(PenPlace in_box) const;

 private:
  double wide_, high_, slant_, angle_;
  PenPlace center_;
};

/// Places along a stroke, where the pen is put down at the first and lifted at the last.
using PenStroke = std::vector<PenPlace>;

/// The strokes of `digit` (0 to 9) in this hand, in one of the ways to write it, with random shape.
std::vector<PenStroke> pen_strokes(int digit, const Hand& hand, Random& random);

/// Draws `digit` (0 to 9) as if by hand: white strokes on black, with random shape, slant, size,
/// place, thickness and noise. Returns 28 x 28 pixels in row-major order.
std::vector<std::uint8_t> draw_digit(int digit, Random& random);

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
