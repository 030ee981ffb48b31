#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "tapegrad/train/plot.h"

namespace tapegrad::TAPEGRAD_SCALAR::detail {

/// How many colors curves may have: the classes color0, color1, ... for lines and shade0, ... for
/// areas.
inline constexpr std::size_t colors = 8;

/// Whether a picture can have a place or a strength for a number. Differences of greater ones
/// overflow.
inline bool is_drawable(double value) { return std::abs(value) < 1e100; }

/// Where the place of a text lies in it.
enum class Anchor { start, middle, end };

/// About the width of a line of UTF-8 in a sans-serif font.
///   size: of the font, in the unit of the result
double text_width(const std::string& text, double size);

/// An SVG image that is being drawn, in pixels from its upper left corner. Its style has a class
/// for everything that plots consist of, in light and dark.
class Canvas {
 public:
  static constexpr double margin = 12, font_size = 13, title_size = 15, line_height = 20;
  static constexpr double slide_height = 360;

  explicit Canvas(Medium medium) : medium_(medium) {}

  double width() const;
  double text_width(const std::string& text) const;

  /// classes: title, faint, or a class of cells of a heat map
  void text(double x, double y, const std::string& text, Anchor anchor = Anchor::start,
            const std::string& classes = "", bool upright = false);
  /// Breaks lines between words where they become wider than `width`. Returns the y after the last.
  double paragraph(double x, double y, double width, const std::string& text,
                   Anchor anchor = Anchor::start, const std::string& classes = "");
  /// data: commands of a path
  void path(const std::string& classes, const std::string& data, const std::string& more = "");
  /// What is drawn until `end_group` has this description, for those who cannot see it.
  void begin_group(const std::string& description);
  void end_group();

  /// The image, with all that was drawn down to `height`.
  std::string svg(double height) const;

 private:
  Medium medium_;
  std::string body_;
};

}  // namespace tapegrad::TAPEGRAD_SCALAR::detail
