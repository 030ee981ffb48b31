#include "tapegrad/train/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// In pixels: the image, and the frame of each diagram in it.
constexpr double width = 720, height = 320;
constexpr double left = 72, right = 24, top = 40, bottom = 56;

using Colors = std::array<const char*, 8>;
constexpr Colors light{"#0969da", "#bc4c00", "#1a7f37", "#8250df",
                       "#cf222e", "#1b7c83", "#6e7781", "#bf3989"};
constexpr Colors dark{"#58a6ff", "#f0883e", "#3fb950", "#bc8cff",
                      "#ff7b72", "#39c5cf", "#8b949e", "#f778ba"};

// A class for each color, two to a line, which gives the property that color.
std::string color_classes(const char* name, const char* property, const Colors& colors,
                          const char* indent) {
  std::string rules;
  for (std::size_t i = 0; i < colors.size(); ++i)
    rules += fmt::format("{}.{}{} {{ {}: {} }}{}", i % 2 == 0 ? indent : " ", name, i, property,
                         colors[i], i % 2 == 0 ? "" : "\n");
  return rules;
}

std::string style(bool bands) {
  std::string sheet = R"(<style>
  .back { fill: #ffffff }
  text { fill: #24292f; font: 13px sans-serif }
  .title { font-size: 15px; font-weight: bold }
  .grid { stroke: #d8dee4 }
  .frame { stroke: #57606a; fill: none }
  .curve { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round }
)";
  sheet += color_classes("color", "stroke", light, "  ");
  sheet += "  .dots { stroke-width: 6 }\n";
  if (bands)
    sheet += "  .band { fill-opacity: 0.2 }\n" + color_classes("shade", "fill", light, "  ");
  sheet += R"(  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117 }
    text { fill: #e6edf3 }
    .grid { stroke: #30363d }
    .frame { stroke: #8b949e }
)";
  sheet += color_classes("color", "stroke", dark, "    ");
  if (bands) sheet += color_classes("shade", "fill", dark, "    ");
  return sheet + "  }\n</style>\n";
}

// An axis between two of its ticks.
struct Axis {
  struct Tick {
    double value;
    std::string label;
  };
  std::vector<Tick> ticks;
  bool logarithmic = false;

  // The position along the axis, from 0 to 1.
  double at(double value) const {
    const auto place = [&](double v) { return logarithmic ? std::log(v) : v; };
    const double first = place(ticks.front().value), last = place(ticks.back().value);
    return (place(value) - first) / (last - first);
  }
};

// Beyond this, differences overflow.
bool is_drawable(double value) { return std::abs(value) < 1e100; }

// Ticks at intervals of 1, 2 or 5 times a power of ten. They differ, however close the ends are.
Axis linear_axis(double least, double greatest) {
  const double smallest_span = 1e-9 * std::max({std::abs(least), std::abs(greatest), 1e-90});
  const double span = std::max(greatest > least ? greatest - least : 1, smallest_span);
  const double power = std::pow(10, std::floor(std::log10(span / 5)));
  const double count = span / 5 / power;
  const double step = power * (count < 1.5 ? 1 : count < 3.5 ? 2 : count < 7.5 ? 5 : 10);
  const double first = std::floor(least / step) * step;
  const double last = std::max(std::ceil(greatest / step) * step, first + step);
  const int decimals = std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)));
  Axis axis;
  for (int i = 0; i <= std::lround((last - first) / step); ++i)
    axis.ticks.push_back(
        {first + i * step, fmt::format("{:.{}f}", first + i * step + 0.0, decimals)});
  return axis;
}

// Ticks at powers of two, or at 1, 2 and 5 times powers of ten; over many decades only at powers of
// ten.
Axis logarithmic_axis(double least, double greatest, bool doublings) {
  const bool between = !doublings && greatest / least <= 2000;
  const double base = doublings ? 2 : 10, close = 1 + 1e-9;
  std::vector<double> values;
  for (double exponent = std::floor(std::log(least) / std::log(base) + 1e-9);
       values.size() < 2 || values.back() * close < greatest; ++exponent)
    for (const double factor : between ? std::vector<double>{1, 2, 5} : std::vector<double>{1})
      values.push_back(factor * std::pow(base, exponent));
  Axis axis{.ticks = {}, .logarithmic = true};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool before = i + 2 < values.size() && values[i + 1] <= least * close;
    const bool behind = axis.ticks.size() >= 2 && axis.ticks.back().value * close >= greatest;
    if (!before && !behind) axis.ticks.push_back({values[i], fmt::format("{:.12g}", values[i])});
  }
  return axis;
}

struct BandPoint {
  double x, lower, upper;
};

// Empty for a curve without deviations.
std::vector<BandPoint> band(const Series& series) {
  expect<ArgumentError>(
      series.deviations.empty() || series.deviations.size() == series.points.size(),
      "svg: {} has {} points, but {} deviations", series.name, series.points.size(),
      series.deviations.size());
  std::vector<BandPoint> points;
  for (std::size_t i = 0; i < series.deviations.size(); ++i) {
    const auto& [x, y] = series.points[i];
    const double deviation = series.deviations[i];
    if (is_drawable(y) && is_drawable(deviation))
      points.push_back({x, y - deviation, y + deviation});
  }
  return points;
}

bool has_band(const Diagram& diagram) {
  return std::any_of(diagram.series.begin(), diagram.series.end(),
                     [](const Series& series) { return !series.deviations.empty(); });
}

std::pair<Axis, Axis> axes(const Diagram& diagram) {
  double least_x = INFINITY, greatest_x = -INFINITY, least_y = INFINITY, greatest_y = -INFINITY;
  const auto include = [&](double x, double y) {
    if (!is_drawable(y) || (diagram.logarithmic && y <= 0)) return;
    least_x = std::min(least_x, x), greatest_x = std::max(greatest_x, x);
    least_y = std::min(least_y, y), greatest_y = std::max(greatest_y, y);
  };
  for (const Series& series : diagram.series) {
    for (const auto& [x, y] : series.points) include(x, y);
    for (const auto& [x, lower, upper] : band(series)) include(x, lower), include(x, upper);
  }
  if (least_y > greatest_y) return {linear_axis(0, 1), linear_axis(0, 1)};
  if (diagram.logarithmic)
    return {logarithmic_axis(least_x, greatest_x, true),
            logarithmic_axis(least_y, greatest_y, false)};
  return {linear_axis(0, greatest_x), linear_axis(least_y, greatest_y)};
}

// A diagram in its place in the image.
struct Frame {
  const Diagram& diagram;
  Axis x_axis, y_axis;
  double offset;  // of the diagram, from the top of the image
  double below;   // how much lower than the title the legend stands

  double frame_width() const { return width - left - right; }
  double frame_height() const { return height - top - below - bottom; }
  double floor() const { return offset + height - bottom; }
  double across(double x) const { return left + x_axis.at(x) * frame_width(); }
  double up(double y) const { return floor() - y_axis.at(y) * frame_height(); }
};

// In the legend: the width of a letter, and of the sample of a curve.
constexpr double letter = 7, sample = 40;

// The legend stands on the title's line, from the right, or below it if both are too long.
double legend_below_title(const Diagram& diagram) {
  double both = 1.2 * letter * static_cast<double>(diagram.title.size());
  for (const Series& series : diagram.series)
    both += letter * static_cast<double>(series.name.size()) + sample;
  return both < width - left - right ? 0 : 20;
}

void draw_axes(std::string& svg, const Frame& frame) {
  const auto out = std::back_inserter(svg);
  const double floor = frame.floor(), frame_width = frame.frame_width();
  for (const Axis::Tick& tick : frame.y_axis.ticks) {
    const double y = frame.up(tick.value);
    fmt::format_to(out,
                   "<path class=\"grid\" d=\"M{} {:.1f}h{}\"/>"
                   "<text text-anchor=\"end\" x=\"{}\" y=\"{:.1f}\">{}</text>\n",
                   left, y, frame_width, left - 8, y + 4, tick.label);
  }
  for (const Axis::Tick& tick : frame.x_axis.ticks) {
    const double x = frame.across(tick.value);
    fmt::format_to(out,
                   "<path class=\"frame\" d=\"M{:.1f} {}v5\"/>"
                   "<text text-anchor=\"middle\" x=\"{:.1f}\" y=\"{}\">{}</text>\n",
                   x, floor, x, floor + 20, tick.label);
  }
  fmt::format_to(out, "<path class=\"frame\" d=\"M{} {}V{}h{}\"/>\n", left,
                 frame.offset + top + frame.below, floor, frame_width);
  fmt::format_to(out, "<text text-anchor=\"middle\" x=\"{}\" y=\"{}\">{}</text>\n",
                 left + frame_width / 2, floor + 42, escaped(frame.diagram.x_label));
  fmt::format_to(out,
                 "<text text-anchor=\"middle\" transform=\"rotate(-90 18 {0})\" x=\"18\" "
                 "y=\"{0}\">{1}</text>\n",
                 floor - frame.frame_height() / 2, escaped(frame.diagram.y_label));
  if (has_band(frame.diagram))
    fmt::format_to(out,
                   "<text text-anchor=\"end\" x=\"{}\" y=\"{}\">bands: +- standard "
                   "deviation</text>\n",
                   left + frame_width, floor + 42);
}

// From the first point along the upper edge, and back along the lower one.
void draw_band(std::string& svg, const Frame& frame, const Series& series, std::size_t color) {
  const std::vector<BandPoint> points = band(series);
  std::string path;
  const auto add = [&](double x, double y) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", frame.across(x), frame.up(y));
  };
  for (const BandPoint& point : points) add(point.x, point.upper);
  const double lowest = frame.y_axis.ticks.front().value;  // a logarithmic axis does not reach 0
  for (auto point = points.rbegin(); point != points.rend(); ++point)
    add(point->x, std::max(point->lower, lowest));
  if (!path.empty()) svg += fmt::format("<path class=\"band shade{}\" d=\"{}Z\"/>\n", color, path);
}

void draw_curve(std::string& svg, const Frame& frame, const Series& series, std::size_t color) {
  std::string path, dots;
  for (const auto& [x, y] : series.points) {
    if (!is_drawable(y)) continue;
    const double across = frame.across(x), up = frame.up(y);
    path += path.empty() ? fmt::format("M{:.1f} {:.1f}h0", across, up)
                         : fmt::format("L{:.1f} {:.1f}", across, up);
    if (frame.diagram.logarithmic) dots += fmt::format("M{:.1f} {:.1f}h0", across, up);
  }
  svg += fmt::format("<path class=\"curve color{}\" d=\"{}\"/>\n", color, path);
  if (!dots.empty())
    svg += fmt::format("<path class=\"curve dots color{}\" d=\"{}\"/>\n", color, dots);
}

std::string draw(const Diagram& diagram, double offset, const std::vector<std::string>& names) {
  const auto [x_axis, y_axis] = axes(diagram);
  const Frame frame{diagram, x_axis, y_axis, offset, legend_below_title(diagram)};
  std::string svg = fmt::format("<text class=\"title\" x=\"{}\" y=\"{}\">{}</text>\n", left,
                                offset + 24, escaped(diagram.title));
  draw_axes(svg, frame);
  const auto color_of = [&](const Series& series) {
    const auto name = std::find(names.begin(), names.end(), series.name);
    return static_cast<std::size_t>(name - names.begin()) % light.size();
  };
  for (const Series& series : diagram.series) draw_band(svg, frame, series, color_of(series));
  double legend = width - right;
  for (const Series& series : diagram.series) {
    const std::size_t color = color_of(series);
    draw_curve(svg, frame, series, color);
    legend -= letter * static_cast<double>(series.name.size());
    svg += fmt::format(
        "<text x=\"{0}\" y=\"{1}\">{2}</text>"
        "<path class=\"curve color{3}\" d=\"M{4} {5}h20\"/>\n",
        legend, offset + frame.below + 24, escaped(series.name), color, legend - 26,
        offset + frame.below + 20);
    legend -= sample;
  }
  return svg;
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else
      result += c;
  }
  return result;
}

std::string svg(const std::vector<Diagram>& diagrams) {
  const double total = height * static_cast<double>(diagrams.size());
  std::string result = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\">\n{2}<rect class=\"back\" width=\"{0}\" height=\"{1}\"/>\n",
      width, total, style(std::any_of(diagrams.begin(), diagrams.end(), has_band)));
  std::vector<std::string> names;  // a name has one color in all diagrams
  for (const Diagram& diagram : diagrams)
    for (const Series& series : diagram.series)
      if (std::find(names.begin(), names.end(), series.name) == names.end())
        names.push_back(series.name);
  for (std::size_t i = 0; i < diagrams.size(); ++i)
    result += draw(diagrams[i], height * static_cast<double>(i), names);
  return result + "</svg>\n";
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
