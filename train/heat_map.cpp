#include "tapegrad/train/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>

#include "tapegrad/core/error.h"
#include "tapegrad/train/internal/canvas.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

using detail::Anchor;
using detail::Canvas;
using detail::is_drawable;

constexpr double highest_row = 28, widest_cell = 110, gap = 8;

void check(const HeatMap& map) {
  expect<ArgumentError>(map.rows.size() == map.values.size(),
                        "svg: {} has {} rows, but values of {}", map.title, map.rows.size(),
                        map.values.size());
  for (std::size_t i = 0; i < map.rows.size(); ++i)
    expect<ArgumentError>(map.values[i].size() == map.columns.size(),
                          "svg: {} has {} columns, but {} values in row {}", map.title,
                          map.columns.size(), map.values[i].size(), map.rows[i]);
}

double widest(const Canvas& canvas, const std::vector<std::string>& names) {
  double width = 0;
  for (const std::string& name : names) width = std::max(width, canvas.text_width(name));
  return width;
}

std::vector<std::string> words_of(const std::vector<std::string>& names) {
  std::vector<std::string> words;
  for (const std::string& name : names) {
    std::istringstream stream(name);
    words.insert(words.end(), std::istream_iterator<std::string>(stream), {});
  }
  return words;
}

// From 0 for the least of the drawable values to 1 for the greatest.
class Shares {
 public:
  explicit Shares(const HeatMap& map) {
    for (const auto& row : map.values)
      for (const double value : row)
        if (is_drawable(value))
          least_ = std::min(least_, value), greatest_ = std::max(greatest_, value);
  }
  double operator()(double value) const {
    if (!(value > least_)) return 0;
    return value < greatest_ ? (value - least_) / (greatest_ - least_) : 1;
  }

 private:
  double least_ = INFINITY, greatest_ = -INFINITY;
};

std::string number(double value, int decimals) {
  if (std::isnan(value)) return "-";
  if (std::abs(value) >= 1e9) return fmt::format("{:.1e}", value);
  const double power = std::pow(10, decimals);
  return fmt::format("{:.{}f}", std::round(power * value) / power + 0.0, decimals);  // never -0
}

// Counts decimals that fit the cells: two at most for numbers of one digit, one for others.
int decimals(const Canvas& canvas, const HeatMap& map, double cell_width) {
  int count = 2;
  for (const auto& row : map.values)
    for (const double value : row) {
      if (std::isfinite(value) && std::abs(value) >= 10) count = std::min(count, 1);
      while (count > 0 && canvas.text_width(number(value, count)) > cell_width) --count;
    }
  return count;
}

// Where the cells are.
struct Grid {
  double left, top, cell_width, row_height;
};

void draw_cells(Canvas& canvas, const HeatMap& map, const Grid& grid) {
  const Shares share(map);
  const int digits = decimals(canvas, map, grid.cell_width);
  const double width = std::max(0.0, grid.cell_width - 2);
  const double height = std::max(0.0, grid.row_height - 2);
  for (std::size_t i = 0; i < map.rows.size(); ++i) {
    const double y = grid.top + grid.row_height * static_cast<double>(i);
    const double baseline = y + grid.row_height / 2 + 4;
    canvas.text(grid.left - gap, baseline, map.rows[i], Anchor::end);
    for (std::size_t j = 0; j < map.columns.size(); ++j) {
      const double x = grid.left + grid.cell_width * static_cast<double>(j);
      const double value = map.values[i][j];
      const double strength = std::isnan(value) ? 0 : 0.06 + 0.88 * share(value);
      canvas.path(
          "cell",
          fmt::format("M{:.1f} {:.1f}h{:.1f}v{:.1f}h-{:.1f}z", x + 1, y + 1, width, height, width),
          fmt::format(" fill-opacity=\"{:.2f}\"", strength));
      canvas.text(x + grid.cell_width / 2, baseline, number(value, digits), Anchor::middle,
                  strength > 0.65 ? "strong" : "");
    }
  }
}

// Above the cells, between words on lines of their own; upright if a word is wider than a cell.
// Returns where the cells begin.
double draw_columns(Canvas& canvas, const std::vector<std::string>& names, double left, double top,
                    double cell_width) {
  const bool upright = widest(canvas, words_of(names)) + 4 > cell_width;
  const double length = widest(canvas, names);
  double end = top;
  for (std::size_t j = 0; j < names.size(); ++j) {
    const double middle = left + cell_width * (static_cast<double>(j) + 0.5);
    if (upright)
      canvas.text(middle + 4, top + length - 12, names[j], Anchor::start, "", true);
    else
      end = std::max(end,
                     canvas.paragraph(middle, top + 4, cell_width - gap, names[j], Anchor::middle));
  }
  return upright ? top + length - 6 : end - 12;
}

// Draws from `top` on; returns where the map ends.
double draw(Canvas& canvas, const HeatMap& map, double top, Medium medium) {
  check(map);
  const double text_width = canvas.width() - 2 * Canvas::margin;
  canvas.begin_group(map.caption);
  top = canvas.paragraph(Canvas::margin, top + 24, text_width, map.title, Anchor::start, "title");
  if (!map.unit.empty()) top = canvas.paragraph(Canvas::margin, top, text_width, map.unit);
  const double left = Canvas::margin + std::min(widest(canvas, map.rows), canvas.width() / 2) + gap;
  const double cell_width =
      std::min((canvas.width() - Canvas::margin - left) / static_cast<double>(map.columns.size()),
               widest_cell);
  top = draw_columns(canvas, map.columns, left, top, cell_width);
  const auto rows = static_cast<double>(map.rows.size());
  const double row_height =
      medium == Medium::slide ? (Canvas::slide_height - Canvas::margin - top) / rows : highest_row;
  draw_cells(canvas, map, {left, top, cell_width, std::min(row_height, highest_row)});
  canvas.end_group();
  return top + rows * highest_row + Canvas::margin;
}

}  // namespace

std::string svg(const HeatMap& map, Medium medium) { return svg(std::vector{map}, medium); }

std::string svg(const std::vector<HeatMap>& maps, Medium medium) {
  expect<ArgumentError>(medium != Medium::slide || maps.size() == 1,
                        "svg: a slide shows one map, not {}", maps.size());
  Canvas canvas(medium);
  double end = 0;
  for (const HeatMap& map : maps) end = draw(canvas, map, end, medium);
  return canvas.svg(medium == Medium::slide ? Canvas::slide_height : end);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
