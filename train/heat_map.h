#pragma once

#include <string>
#include <vector>

#include "tapegrad/train/plot.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Numbers as a table of colored cells.
/// Example: `HeatMap map{.title = "Sums", .rows = {"a"}, .columns = {"b"}, .values = {{0.5}}}`
struct HeatMap {
  std::string title;
  std::vector<std::string> rows, columns;   ///< names
  std::vector<std::vector<double>> values;  ///< of each row, for each column
  std::string unit = {};                    ///< of the values
  std::string caption = {};                 ///< what to see in it
};

/// The map as an SVG image: the greater a value, the stronger the blue of its cell, which also
/// shows the number. Values of -infinity and below -1e100 have the color of the least, values
/// of infinity and above 1e100 the color of the greatest, and NaN has none.
/// Throws ArgumentError unless there is a value for each row and column.
/// Example: `svg(HeatMap{.title = "Sums", .rows = {"a"}, .columns = {"b"}, .values = {{0.5}}})`
std::string svg(const HeatMap& map, Medium medium = Medium::page);
/// The maps as one image, one below the other; for pages and phones.
std::string svg(const std::vector<HeatMap>& maps, Medium medium = Medium::page);

}  // namespace tapegrad::TAPEGRAD_SCALAR
