#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A named curve through points (x, y) with x >= 0 in ascending order. On logarithmic axes both are
/// positive.
/// Example: `const Series loss{.name = "training", .points = {{0, 2.3}, {100, 0.4}}}`
struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
  std::vector<double> deviations = {};  ///< of the y of each point; empty: unknown
};

/// Curves that share their axes.
/// Example: `Diagram diagram{.title = "Loss", .x_label = "step", .y_label = "nats", .series = {}}`
struct Diagram {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<Series> series;
  bool logarithmic = false;           ///< both axes; marks every point
  std::string caption = {};           ///< what to see in it
  std::optional<double> x_mark = {};  ///< of a vertical line
};

/// What an image is made for: a page 720 pixels wide; a phone, 360 wide; or a slide, 16:9. Pages
/// and phones follow the reader's preference for light or dark. A slide is light and its
/// letters are large.
/// Example: `svg({{"Loss", "step", "nats", {{"training", {{0, 2}, {9, 1}}}}}}, Medium::slide)`
enum class Medium { page, phone, slide };

/// The diagrams as one SVG image, one below the other, with ticks and legends. A name has the same
/// color, dashes and marks in all diagrams; a legend lists the curves from the highest to the
/// lowest at their ends. Behind a curve with deviations lies the band y +- deviation. Two strokes
/// cut an axis that does not reach 0, and the label names a logarithmic one. A dashed line stands
/// at a mark that the axis reaches. A caption becomes the description. Omits points that are not
/// finite, or beyond 1e100, and what axes do not reach: x < 0, and on logarithmic ones what is not
/// above 1e-100. Omits the band at points whose deviation is not finite, negative or beyond 1e100.
/// Throws ArgumentError if a curve has a deviation for some of its points only.
/// Example: `svg({{"Loss", "step", "nats", {{.name = "training", .points = {{0, 2}, {9, 1}}}}}})`
std::string svg(const std::vector<Diagram>& diagrams, Medium medium = Medium::page);

/// Text escaped for SVG and HTML. What they cannot hold is replaced: control characters by question
/// marks, and bytes that are not valid UTF-8 by U+FFFD.
/// Example: `escaped("a < b")`
std::string escaped(const std::string& text);

}  // namespace tapegrad::TAPEGRAD_SCALAR
