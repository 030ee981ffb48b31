#include "tapegrad/train/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "tapegrad/core/error.h"
#include "tapegrad/train/internal/axis.h"
#include "tapegrad/train/internal/canvas.h"
#include "tapegrad/train/json.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

using detail::Anchor;
using detail::Axis;
using detail::Canvas;
using detail::is_drawable;

// In pixels: the height of the frame on pages and phones; the sample of a curve in the legend, with
// the space after it.
constexpr double frame_height = 230, sample = 28, sample_space = 36;
constexpr double below_frame = 46;  // for ticks and the label of the x axis
constexpr const char* band_name = "+- standard deviation";

using Points = std::vector<std::pair<double, double>>;

// Whether the axes of a diagram can reach a point.
bool is_within_reach(const Diagram& diagram, double x, double y) {
  if (!is_drawable(x) || !is_drawable(y)) return false;
  return diagram.logarithmic ? is_drawable(1 / x) && is_drawable(1 / y) && x > 0 && y > 0 : x >= 0;
}

Points drawable(const Diagram& diagram, const Series& series) {
  Points points;
  for (const auto& [x, y] : series.points)
    if (is_within_reach(diagram, x, y)) points.emplace_back(x, y);
  return points;
}

struct BandPoint {
  double x, lower, upper;
};

// Empty for a curve without deviations.
std::vector<BandPoint> band(const Diagram& diagram, const Series& series) {
  expect<ArgumentError>(
      series.deviations.empty() || series.deviations.size() == series.points.size(),
      "svg: {} has {} points, but {} deviations", series.name, series.points.size(),
      series.deviations.size());
  std::vector<BandPoint> points;
  for (std::size_t i = 0; i < series.deviations.size(); ++i) {
    const auto& [x, y] = series.points[i];
    const double deviation = series.deviations[i];
    if (is_within_reach(diagram, x, y) && is_drawable(deviation) && deviation >= 0)
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
    if (diagram.logarithmic && y <= 0) return;
    least_x = std::min(least_x, x), greatest_x = std::max(greatest_x, x);
    least_y = std::min(least_y, y), greatest_y = std::max(greatest_y, y);
  };
  for (const Series& series : diagram.series) {
    for (const auto& [x, y] : drawable(diagram, series)) include(x, y);
    for (const auto& [x, lower, upper] : band(diagram, series))
      include(x, lower), include(x, upper);
  }
  if (least_y > greatest_y) return {detail::linear_axis(0, 1), detail::linear_axis(0, 1)};
  if (diagram.logarithmic)
    return {detail::logarithmic_axis(least_x, greatest_x, true),
            detail::logarithmic_axis(least_y, greatest_y, false)};
  return {detail::linear_axis(0, greatest_x), detail::linear_axis(least_y, greatest_y)};
}

// How the curve of a name differs from other curves: in color and mark, in dashes, and in where its
// marks stand.
class CurveStyle {
 public:
  explicit CurveStyle(std::size_t number) : number_(number) {}

  std::size_t color() const { return number_ % detail::colors; }
  // From a whole line to dots, so that those with less ink lie on top.
  std::size_t dashes() const { return (number_ + number_ / detail::colors) % patterns.size(); }
  std::string pattern() const {
    return dashes() == 0 ? "" : fmt::format(" stroke-dasharray=\"{}\"", patterns[dashes()]);
  }
  std::string mark(double x, double y) const {
    constexpr std::array<const char*, detail::colors> shapes{"m-4 0a4 4 0 1 1 8 0a4 4 0 1 1-8 0",
                                                             "m-3.5-3.5h7v7h-7z",
                                                             "m0-5l4.5 8h-9z",
                                                             "m0-5l5 5l-5 5l-5-5z",
                                                             "m-4-4l8 8m0-8l-8 8",
                                                             "m0 5l4.5-8h-9z",
                                                             "m-5 0h10m-5-5v10",
                                                             "m-4-4h8l-8 8h8z"};
    return fmt::format("M{:.1f} {:.1f}{}", x, y, shapes[color()]);
  }
  // Every `stride`-th point has a mark. The first ones of `stride` curves differ and are spread.
  std::size_t first_mark(std::size_t stride) const {
    std::size_t step = std::max<std::size_t>(1, stride * 2 / 5);
    while (std::gcd(step, stride) > 1) ++step;
    return number_ * step % stride;
  }

  static constexpr std::array<const char*, 4> patterns{"", "10 6", "10 5 1 5", "1 5"};

 private:
  std::size_t number_;
};

// The styles of all names.
class CurveStyles {
 public:
  explicit CurveStyles(const std::vector<Diagram>& diagrams) {
    for (const Diagram& diagram : diagrams)
      for (const Series& series : diagram.series)
        if (std::find(names_.begin(), names_.end(), series.name) == names_.end())
          names_.push_back(series.name);
  }
  CurveStyle operator()(const Series& series) const {
    const auto name = std::find(names_.begin(), names_.end(), series.name);
    return CurveStyle(static_cast<std::size_t>(name - names_.begin()));
  }

 private:
  std::vector<std::string> names_;
};

// A diagram in its place in the image.
struct Frame {
  const Diagram& diagram;
  Axis x_axis, y_axis;
  double left, right, top, floor;

  double across(double x) const { return left + x_axis.at(x) * (right - left); }
  double up(double y) const { return floor - y_axis.at(y) * (floor - top); }
};

void draw_y_axis(Canvas& canvas, const Frame& frame) {
  const std::vector<double> heights(frame.y_axis.ticks.size(), Canvas::font_size);
  const std::size_t stride = label_stride(frame.y_axis, heights, frame.floor - frame.top);
  for (std::size_t i = 0; i < heights.size(); i += stride) {
    const auto& [value, label] = frame.y_axis.ticks[i];
    const double y = frame.up(value);
    canvas.path("grid", fmt::format("M{:.1f} {:.1f}H{:.1f}", frame.left, y, frame.right));
    canvas.text(frame.left - 8, y + 4, label, Anchor::end);
  }
  if (frame.y_axis.logarithmic || frame.y_axis.reaches_zero()) return;
  const double end = frame.y_axis.ticks.front().value > 0 ? frame.floor - 7 : frame.top + 13;
  canvas.path("frame break", fmt::format("M{0:.1f} {1:.1f}l12-5M{0:.1f} {2:.1f}l12-5",
                                         frame.left - 6, end, end - 5));
}

void draw_x_axis(Canvas& canvas, const Frame& frame) {
  std::vector<double> widths;
  for (const Axis::Tick& tick : frame.x_axis.ticks) widths.push_back(canvas.text_width(tick.label));
  const std::size_t stride = label_stride(frame.x_axis, widths, frame.right - frame.left);
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const auto& [value, label] = frame.x_axis.ticks[i];
    const double x = frame.across(value);
    canvas.path("frame", fmt::format("M{:.1f} {:.1f}v5", x, frame.floor));
    if (i % stride == 0) canvas.text(x, frame.floor + 20, label, Anchor::middle);
  }
}

// From the first point along the upper edge, and back along the lower one.
void draw_band(Canvas& canvas, const Frame& frame, const Series& series, const CurveStyle& style) {
  const std::vector<BandPoint> points = band(frame.diagram, series);
  std::string path;
  const auto add = [&](double x, double y) {
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", frame.across(x), frame.up(y));
  };
  for (const BandPoint& point : points) add(point.x, point.upper);
  const double lowest = frame.y_axis.ticks.front().value;  // a logarithmic axis does not reach 0
  for (auto point = points.rbegin(); point != points.rend(); ++point)
    add(point->x, std::max(point->lower, lowest));
  if (!path.empty()) canvas.path(fmt::format("band shade{}", style.color()), path + "Z");
}

void draw_curve(Canvas& canvas, const Frame& frame, const Series& series, const CurveStyle& style) {
  const Points points = drawable(frame.diagram, series);
  const std::size_t stride = frame.diagram.logarithmic ? 1 : (points.size() + 4) / 5;
  std::string path, marks;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double x = frame.across(points[i].first), y = frame.up(points[i].second);
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x, y);
    if (i % stride == style.first_mark(stride)) marks += style.mark(x, y);
  }
  canvas.path(fmt::format("curve color{}", style.color()), path, style.pattern());
  canvas.path(fmt::format("mark color{}", style.color()), marks);
}

// Puts the series that lie highest at their ends first. Ends that the eye cannot tell apart keep
// their order, whatever the processor has rounded.
std::vector<Series> in_order_of_ends(const Frame& frame) {
  const auto end = [&](const Series& series) {
    const Points points = drawable(frame.diagram, series);
    return points.empty() ? INFINITY : std::round(frame.up(points.back().second));
  };
  std::vector<Series> ordered = frame.diagram.series;
  std::stable_sort(ordered.begin(), ordered.end(),
                   [&](const Series& a, const Series& b) { return end(a) < end(b); });
  return ordered;
}

double legend_width(const Canvas& canvas, const Diagram& diagram) {
  double widest = has_band(diagram) ? canvas.text_width(band_name) : 0;
  for (const Series& series : diagram.series)
    widest = std::max(widest, canvas.text_width(series.name));
  return sample_space + widest;
}

// Entries beside each other as long as there is room. Returns where the last line ends.
double draw_legend(Canvas& canvas, const Frame& frame, const CurveStyles& styles, double left,
                   double top, double width) {
  double x = left, y = top;
  const auto place = [&](const std::string& name) {
    const double needed = sample_space + canvas.text_width(name);
    if (x > left && x + needed > left + width) x = left, y += Canvas::line_height;
    canvas.text(x + sample_space, y + 4, name);
    const double sample_left = x;
    x += needed + 16;
    return sample_left;
  };
  for (const Series& series : in_order_of_ends(frame)) {
    const CurveStyle style = styles(series);
    const double at = place(series.name);
    canvas.path(fmt::format("legend curve color{}", style.color()),
                fmt::format("M{:.1f} {:.1f}h{}", at, y, sample), style.pattern());
    canvas.path(fmt::format("legend mark color{}", style.color()), style.mark(at + sample / 2, y));
  }
  if (has_band(frame.diagram)) {
    const double at = place(band_name);
    canvas.path("legend swatch",
                fmt::format("M{:.1f} {:.1f}h{}v10h-{}z", at, y - 5, sample, sample));
  }
  return y + Canvas::line_height;
}

// Leaves room for the legend: beside the frame, or below it on a phone.
Frame framed(const Canvas& canvas, const Diagram& diagram, Medium medium, double offset,
             double top) {
  const auto [x_axis, y_axis] = axes(diagram);
  double widest = 0;
  for (const Axis::Tick& tick : y_axis.ticks)
    widest = std::max(widest, canvas.text_width(tick.label));
  const double left = Canvas::margin + std::min(widest, 90.0) + 12;
  const double beside =
      medium == Medium::phone ? Canvas::margin : legend_width(canvas, diagram) + 24;
  const double floor = medium == Medium::slide
                           ? offset + Canvas::slide_height - Canvas::margin - below_frame
                           : top + frame_height;
  return {diagram, x_axis, y_axis, left, canvas.width() - Canvas::margin - beside, top, floor};
}

void draw_curves(Canvas& canvas, const Frame& frame, const CurveStyles& styles) {
  for (const Series& series : frame.diagram.series)
    draw_band(canvas, frame, series, styles(series));
  for (std::size_t dashes = 0; dashes < CurveStyle::patterns.size(); ++dashes)
    for (const Series& series : frame.diagram.series)
      if (styles(series).dashes() == dashes) draw_curve(canvas, frame, series, styles(series));
}

// Returns where the diagram ends.
double draw(Canvas& canvas, const Diagram& diagram, const CurveStyles& styles, Medium medium,
            double offset) {
  const double text_width = canvas.width() - 2 * Canvas::margin;
  const std::string scale = diagram.logarithmic ? " (log scale)" : "";
  canvas.begin_group(diagram.caption);
  double y = canvas.paragraph(Canvas::margin, offset + 24, text_width, diagram.title, Anchor::start,
                              "title");
  y = canvas.paragraph(Canvas::margin, y, text_width, diagram.y_label + scale);
  const Frame frame = framed(canvas, diagram, medium, offset, y - 4);
  draw_y_axis(canvas, frame);
  draw_x_axis(canvas, frame);
  canvas.path("frame", fmt::format("M{:.1f} {:.1f}V{:.1f}H{:.1f}", frame.left, frame.top,
                                   frame.floor, frame.right));
  double end = canvas.paragraph((frame.left + frame.right) / 2, frame.floor + 40,
                                frame.right - frame.left, diagram.x_label + scale, Anchor::middle);
  // A logarithmic axis has 0 infinitely far to the left.
  if (const auto mark = diagram.x_mark;
      mark && frame.x_axis.at(*mark) >= 0 && frame.x_axis.at(*mark) <= 1)
    canvas.path("frame",
                fmt::format("M{:.1f} {:.1f}V{:.1f}", frame.across(*mark), frame.top, frame.floor),
                " stroke-dasharray=\"4 4\"");
  draw_curves(canvas, frame, styles);
  if (medium == Medium::phone)
    end = draw_legend(canvas, frame, styles, Canvas::margin, end, text_width);
  else
    end = std::max(end, draw_legend(canvas, frame, styles, frame.right + 24, frame.top + 6, 0));
  canvas.end_group();
  return end;
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : valid_utf8(text)) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\n' && c != '\r')
      result += '?';
    else
      result += c;
  }
  for (const std::string unknown : {"\uFFFE", "\uFFFF"})  // the only others that XML lacks
    for (std::size_t at; (at = result.find(unknown)) != std::string::npos;)
      result.replace(at, unknown.size(), "\uFFFD");
  return result;
}

std::string svg(const std::vector<Diagram>& diagrams, Medium medium) {
  Canvas canvas(medium);
  const CurveStyles styles(diagrams);
  double end = 0;
  for (const Diagram& diagram : diagrams) {
    const double begin = end;
    end = draw(canvas, diagram, styles, medium, begin);
    if (medium == Medium::slide) end = begin + Canvas::slide_height;
  }
  return canvas.svg(end);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
