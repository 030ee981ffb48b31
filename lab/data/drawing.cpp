#include "data/drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "tapegrad/train/plot.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

constexpr const char* style = R"(<style>
  svg { --back: #ffffff; --text: #24292f; --faint: #6e7781; --blue: #0969da; --red: #cf222e; --orange: #bc4c00;
    --green: #1a7f37; color: var(--text) }
  @media (prefers-color-scheme: dark) { svg { --back: #0d1117; --text: #e6edf3; --faint: #8b949e; --blue: #58a6ff;
    --red: #ff7b72; --orange: #f0883e; --green: #3fb950 } }
  .back { fill: var(--back) }
  .blue { color: var(--blue) } .red { color: var(--red) } .orange { color: var(--orange) }
  .green { color: var(--green) } .faint { color: var(--faint) }
  text { fill: currentColor; font: 14px sans-serif }
  .middle { text-anchor: middle } .end { text-anchor: end }
  .small { font-size: 12px } .strong { font-weight: bold } .title { font-size: 17px; font-weight: bold }
  .line { fill: none; stroke: currentColor; stroke-width: 1.5; stroke-linejoin: round }
  .thick { stroke-width: 3 } .dashed { stroke-dasharray: 5 4 }
  .pixels { fill: none; stroke: currentColor; shape-rendering: crispEdges }
  .area { fill: currentColor; fill-opacity: 0.25 } .head { fill: currentColor }
</style>
)";

bool is_finite(const Spot& spot) { return std::isfinite(spot.x) && std::isfinite(spot.y); }

std::string path(const std::vector<Spot>& spots) {
  std::string result;
  for (const Spot& spot : spots)
    if (is_finite(spot))
      result += fmt::format("{}{:.1f} {:.1f}", result.empty() ? "M" : "L", spot.x, spot.y);
  return result;
}

std::string closed_path(const std::vector<Spot>& corners) {
  const std::string around = path(corners);
  return around.empty() ? "" : around + "Z";
}

}  // namespace

Drawing::Drawing(double width, double height) : width_(width), height_(height) {}

void Drawing::words(Spot at, const std::string& text, const std::string& classes) {
  if (!is_finite(at)) return;
  body_ += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", classes, at.x,
                       at.y, escaped(text));
}

void Drawing::line(const std::vector<Spot>& spots, const std::string& classes) {
  body_ += fmt::format("<path class=\"line {}\" d=\"{}\"/>\n", classes, path(spots));
}

void Drawing::area(const std::vector<Spot>& corners, const std::string& classes) {
  body_ += fmt::format("<path class=\"area {}\" d=\"{}\"/>\n", classes, closed_path(corners));
}

void Drawing::box(Spot corner, double width, double height, const std::string& classes) {
  if (!is_finite(corner) || !is_finite({width, height})) return;
  body_ += fmt::format(
      "<rect class=\"line {}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
      "rx=\"6\"/>\n",
      classes, corner.x, corner.y, width, height);
}

void Drawing::image(Spot corner, Index columns, std::span<const real> ink, double side) {
  constexpr long shades = 8;
  const auto shade = [&](Index i) {
    const real of = ink[i];
    return std::isnan(of) ? 0 : std::lround(shades * std::clamp<real>(of, 0, 1));
  };
  // The pixels of each shade, neighbours in a row together: lines as wide as a pixel.
  std::array<std::string, shades + 1> pixels;
  const auto count = std::ssize(ink);
  for (Index i = 0, end; i < count; i = end) {
    for (end = i + 1; end < count && end % columns != 0 && shade(end) == shade(i);) ++end;
    pixels[shade(i)] += fmt::format("M{} {}h{}", i % columns, i / columns, end - i);
  }
  body_ += fmt::format("<g class=\"pixels\" transform=\"translate({:g} {:g}) scale({:g})\">\n",
                       corner.x, corner.y + side / 2, side);
  for (std::size_t level = 1; level < pixels.size(); ++level)
    if (!pixels[level].empty())
      body_ += fmt::format("<path opacity=\"{:g}\" d=\"{}\"/>\n",
                           static_cast<double>(level) / shades, pixels[level]);
  body_ += "</g>\n";
}

void Drawing::arrow(Spot from, Spot to, const std::string& classes) {
  constexpr double length = 11, half_width = 4.5;
  const double distance = std::hypot(to.x - from.x, to.y - from.y);
  const Spot along{(to.x - from.x) / distance, (to.y - from.y) / distance};
  const Spot neck{to.x - length * along.x, to.y - length * along.y};
  const Spot side{half_width * along.y, -half_width * along.x};
  line({from, neck}, classes);
  body_ += fmt::format(
      "<path class=\"head {}\" d=\"{}\"/>\n", classes,
      closed_path({to, {neck.x + side.x, neck.y + side.y}, {neck.x - side.x, neck.y - side.y}}));
}

std::string Drawing::svg() const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\">\n{2}<rect class=\"back\" width=\"{0}\" height=\"{1}\"/>\n{3}</svg>\n",
      width_, height_, style, body_);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
