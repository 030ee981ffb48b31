#pragma once

#include <span>
#include <string>
#include <vector>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {

/// A place in a drawing, in pixels from its upper left corner.
struct Spot {
  double x, y;
};

/// An SVG image of lines, areas and words, for what is not a curve (see train/plot.h). It follows
/// the reader's preference for light or dark. `classes` are words of these: a color (blue, red,
/// orange, green, faint); for words middle, end, small, strong, title; for lines thick, dashed.
/// An area is filled lightly. What has no finite place is left out, spot by spot, and ink that is
/// no number is none.
class Drawing {
 public:
  Drawing(double width, double height);

  void words(Spot at, const std::string& text, const std::string& classes = "");
  void line(const std::vector<Spot>& spots, const std::string& classes = "");
  void area(const std::vector<Spot>& corners, const std::string& classes = "");
  void box(Spot corner, double width, double height, const std::string& classes = "");
  /// A grey image of square pixels. ink: row by row, from 0 to 1
  void image(Spot corner, Index columns, std::span<const real> ink, double side);
  /// A straight line with a head at its end.
  void arrow(Spot from, Spot to, const std::string& classes = "");

  std::string svg() const;

 private:
  double width_, height_;
  std::string body_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
