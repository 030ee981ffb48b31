#include "data/glimpse_picture.h"

#include <algorithm>

#include "data/drawing.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

constexpr double side = 3, gap = 8, title_height = 30;  // side: of a pixel of the images

double extent(Index pixels) { return side * pixels; }

void draw_frame(Drawing& drawing, Spot first, Spot last, const char* classes) {
  drawing.line({first, {last.x, first.y}, last, {first.x, last.y}, first}, classes);
}

/// ink: (height, width)
void draw_image(Drawing& drawing, Spot corner, const Tensor& ink) {
  const Index height = ink.shape()[0], width = ink.shape()[1];
  drawing.image(corner, width, {ink.data(), static_cast<std::size_t>(ink.size())}, side);
  draw_frame(drawing, corner, {corner.x + extent(width), corner.y + extent(height)}, "faint");
}

/// The window of one image of a batch of the shape (B, height, width).
void draw_window(Drawing& drawing, Spot corner, const GlimpseWindow& windows, Index image,
                 Index filters, const Shape& batch, const char* color) {
  const auto number = [&](const Tensor& of) { return static_cast<double>(of.data()[image]); };
  const double reach = number(windows.stride) * (filters - 1) / 2;
  // The center of the first pixel is 1.
  const auto place = [&](double x, double y) {
    const auto within = [](double at, Index pixels) {
      return side * std::clamp(at - 0.5, 0.0, static_cast<double>(pixels));
    };
    return Spot{corner.x + within(x, batch[2]), corner.y + within(y, batch[1])};
  };
  const double x = number(windows.x), y = number(windows.y);
  draw_frame(drawing, place(x - reach, y - reach), place(x + reach, y + reach), color);
}

/// One image of a group, step by step.
void draw_row(Drawing& drawing, Spot corner, const DrawnImages& group, Index image,
              const DrawOptions& options) {
  const Shape batch = group.glimpses.front().canvas.shape();
  const double step = extent(batch[2]) + gap;
  if (group.originals.defined()) {
    draw_image(drawing, corner, select(group.originals, image));
    corner.x += step;
  }
  for (const auto& [read, write, canvas] : group.glimpses) {
    draw_image(drawing, corner, sigmoid(select(canvas, image)));
    if (read.x.defined()) draw_window(drawing, corner, read, image, options.read, batch, "red");
    draw_window(drawing, corner, write, image, options.write, batch, "blue");
    corner.x += step;
  }
}

}  // namespace

std::string glimpse_picture(const std::vector<DrawnImages>& groups, const DrawOptions& options) {
  double width = 0, height = 0;
  for (const DrawnImages& group : groups) {
    const Shape batch = group.glimpses.front().canvas.shape();
    const double images = group.glimpses.size() + group.originals.defined();
    width = std::max(width, gap + images * (extent(batch[2]) + gap));
    height += title_height + batch[0] * (extent(batch[1]) + gap);
  }
  Drawing drawing(width, height);
  double y = 0;
  for (const DrawnImages& group : groups) {
    const Shape batch = group.glimpses.front().canvas.shape();
    drawing.words({gap, y + 20}, group.title);
    y += title_height;
    for (Index image = 0; image < batch[0]; ++image, y += extent(batch[1]) + gap)
      draw_row(drawing, {gap, y}, group, image, options);
  }
  return drawing.svg();
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
