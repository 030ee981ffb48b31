#include "tapegrad/train/internal/canvas.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

namespace tapegrad::TAPEGRAD_SCALAR::detail {
namespace {

using Colors = std::array<const char*, colors>;
constexpr Colors light{"#0969da", "#bc4c00", "#1a7f37", "#8250df",
                       "#cf222e", "#1b7c83", "#6e7781", "#bf3989"};
constexpr Colors dark{"#58a6ff", "#f0883e", "#3fb950", "#bc8cff",
                      "#ff7b72", "#39c5cf", "#8b949e", "#f778ba"};

constexpr const char* shapes = R"(
  text { font: 13px sans-serif }
  text.title { font-size: 15px; font-weight: bold }
  .frame, .mark { fill: none }
  .mark { stroke-width: 1.5 }
  .curve { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round }
  .band, .swatch { fill-opacity: 0.2 }
)";

constexpr const char* light_parts = R"(  .back { fill: #ffffff }
  text, .swatch { fill: #24292f }
  .grid { stroke: #d8dee4 }
  .frame { stroke: #57606a }
  .cell { fill: #0550ae }
  text.strong { fill: #ffffff }
)";

constexpr const char* dark_parts = R"(  .back { fill: #0d1117 }
  text, .swatch { fill: #e6edf3 }
  .grid { stroke: #30363d }
  .frame { stroke: #8b949e }
  .cell { fill: #79c0ff }
  text.strong { fill: #0d1117 }
)";

std::string color_classes(const Colors& values) {
  std::string rules;
  for (std::size_t i = 0; i < colors; ++i)
    rules += fmt::format("  .color{0} {{ stroke: {1} }} .shade{0} {{ fill: {1} }}\n", i, values[i]);
  return rules;
}

std::string style(Medium medium) {
  std::string sheet = shapes + (light_parts + color_classes(light));
  if (medium != Medium::slide)
    sheet +=
        "  @media (prefers-color-scheme: dark) {\n" + (dark_parts + color_classes(dark)) + "  }\n";
  return fmt::format("<style>{}</style>\n", sheet);
}

constexpr const char* anchor_names[] = {"start", "middle", "end"};

}  // namespace

double text_width(const std::string& text, double size) {
  constexpr double of_letter = 0.56;  // in a sans-serif font, about
  const auto letters = std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  return of_letter * size * static_cast<double>(letters);
}

double Canvas::width() const {
  return medium_ == Medium::page ? 720 : medium_ == Medium::phone ? 360 : 640;
}

double Canvas::text_width(const std::string& text) const {
  return detail::text_width(text, font_size);
}

void Canvas::text(double x, double y, const std::string& text, Anchor anchor,
                  const std::string& classes, bool upright) {
  body_ += fmt::format(
      "<text class=\"{}\" text-anchor=\"{}\" transform=\"translate({:.1f} {:.1f}){}\">{}</text>\n",
      classes, anchor_names[static_cast<int>(anchor)], x, y, upright ? " rotate(-90)" : "",
      escaped(text));
}

double Canvas::paragraph(double x, double y, double width, const std::string& text, Anchor anchor,
                         const std::string& classes) {
  const double size = classes == "title" ? 1.1 * title_size : font_size;  // bold letters are wider
  std::istringstream words(text);
  std::string line;
  const auto finish = [&] {
    this->text(x, y, line, anchor, classes);
    y += line_height;
  };
  for (std::string word; words >> word;) {
    const std::string longer = line.empty() ? word : fmt::format("{} {}", line, word);
    if (!line.empty() && detail::text_width(longer, size) > width) {
      finish();
      line = word;
    } else {
      line = longer;
    }
  }
  finish();
  return y;
}

void Canvas::path(const std::string& classes, const std::string& data, const std::string& more) {
  body_ += fmt::format("<path class=\"{}\"{} d=\"{}\"/>\n", classes, more, data);
}

void Canvas::begin_group(const std::string& description) {
  body_ += "<g>\n";
  if (!description.empty()) body_ += fmt::format("<desc>{}</desc>\n", escaped(description));
}

void Canvas::end_group() { body_ += "</g>\n"; }

std::string Canvas::svg(double height) const {
  const double zoom = medium_ == Medium::slide ? 2 : 1;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1:.0f}\" width=\"{2}\" "
      "height=\"{3:.0f}\">\n{4}<rect class=\"back\" width=\"{0}\" "
      "height=\"{1:.0f}\"/>\n{5}</svg>\n",
      width(), height, width() * zoom, height * zoom, style(medium_), body_);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::detail
