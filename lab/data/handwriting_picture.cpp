#include "data/handwriting_picture.h"

#include <algorithm>
#include <cmath>

#include "data/drawing.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

constexpr double page_width = 1000, page_margin = 24, line_title = 30, character_height = 16;
constexpr double most_line_height = 240;  // of a line

// What the pen draws without being lifted, and at which character; in moves.
struct PenTrace {
  std::vector<Spot> spots;
  Index character;
};

// The traces of a line, and the box around them.
struct Traces {
  std::vector<PenTrace> traces;
  Spot least{0, 0}, most{0, 0};

  double width() const { return std::max(1.0, most.x - least.x); }
  double height() const { return std::max(1.0, most.y - least.y); }
};

Traces traces_of(const PenLine& line) {
  const Indices at = line.weights.defined() ? argmax(line.weights) : Indices();
  Traces found;
  Spot pen{0, 0};
  bool down = true, drew = false;
  for (Index t = 0; t < line.moves.shape()[0]; ++t) {
    const real* move = line.moves.data() + 3 * t;
    const Spot next{pen.x + move[0], pen.y + move[1]};
    if (!std::isfinite(next.x) || !std::isfinite(next.y)) break;  // what follows has no place
    const Index character = at.defined() ? at.data()[t] : 0;
    if (down) {
      const bool goes_on = drew && found.traces.back().character == character;
      if (!goes_on) found.traces.push_back({{pen}, character});
      found.traces.back().spots.push_back(next);
    }
    drew = down;
    down = move[2] == 0;
    pen = next;
    found.least = {std::min(found.least.x, pen.x), std::min(found.least.y, pen.y)};
    found.most = {std::max(found.most.x, pen.x), std::max(found.most.y, pen.y)};
  }
  return found;
}

// Where the window is, move by move: the mean place of its weights, over the height of the text.
void draw_window(Drawing& drawing, const PenLine& line, double top) {
  const Index steps = line.weights.shape()[0], places = line.weights.shape()[1];
  const double bottom = top + character_height * places;
  const auto height_of = [&](double place) { return bottom - character_height * (place + 0.5); };
  for (std::size_t i = 0; i < line.text.size(); ++i)
    drawing.words({page_margin, height_of(i) + 4}, line.text.substr(i, 1),
                  i % 2 == 0 ? "small blue" : "small orange");
  std::vector<Spot> path;
  for (Index t = 0; t < steps; ++t) {
    double sum = 0, mean = 0;
    for (Index u = 0; u < places; ++u) {
      const double weight = line.weights.data()[t * places + u];
      sum += weight;
      mean += weight * u;
    }
    const double x =
        page_margin + 20 + (page_width - 2 * page_margin - 20) * t / std::max<Index>(1, steps - 1);
    if (sum > 0) path.push_back({x, height_of(mean / sum)});
  }
  drawing.line(path, "faint");
  drawing.words({page_width - page_margin, bottom - 4}, "where the window is, move by move",
                "small faint end");
}

double height_of_window(const PenLine& line) {
  if (!line.weights.defined()) return 0;
  return page_margin + character_height * line.weights.shape()[1];
}

}  // namespace

std::string handwriting_picture(const std::vector<PenLine>& lines) {
  std::vector<Traces> all;
  double pixels = 12, height = page_margin;  // pixels: of a move of length 1
  for (const PenLine& line : lines) {
    all.push_back(traces_of(line));
    pixels = std::min({pixels, (page_width - 2 * page_margin) / all.back().width(),
                       most_line_height / all.back().height()});
  }
  for (std::size_t i = 0; i < lines.size(); ++i)
    height += line_title + pixels * all[i].height() + page_margin + height_of_window(lines[i]);
  Drawing drawing(page_width, std::ceil(height));
  double top = page_margin;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    drawing.words({page_margin, top}, lines[i].title);
    top += line_title;
    for (const PenTrace& trace : all[i].traces) {
      std::vector<Spot> spots;
      for (const Spot& spot : trace.spots)
        spots.push_back({page_margin + pixels * (spot.x - all[i].least.x),
                         top + pixels * (spot.y - all[i].least.y)});
      const bool colored = lines[i].weights.defined();
      drawing.line(spots, !colored ? "" : trace.character % 2 == 0 ? "blue" : "orange");
    }
    top += pixels * all[i].height() + page_margin;
    if (lines[i].weights.defined()) draw_window(drawing, lines[i], top - page_margin / 2);
    top += height_of_window(lines[i]);
  }
  return drawing.svg();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
