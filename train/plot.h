#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A named curve through points (x, y) with x >= 0 in ascending order; both positive where axes are
/// logarithmic.
struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
};

/// A diagram of curves that share their axes.
struct Diagram {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<Series> series;
  bool logarithmic = false;  ///< both axes, with a dot at each point
};

/// The diagrams one below the other as an SVG image, with ticks and legends, that follows the
/// reader's preference for light or dark. A name has one color in all of them. Points that are not
/// finite are left out.
std::string svg(const std::vector<Diagram>& diagrams);

/// Text as it stands in SVG and HTML.
std::string escaped(const std::string& text);

}  // namespace tapegrad::TAPEGRAD_SCALAR
