#include "support/digits.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

using Point = PenPlace;

// A smooth line through its points. A corner is where one stroke ends and the next begins.
using Stroke = std::vector<Point>;
using Glyph = std::vector<Stroke>;

// Ways to write each digit, in a box from (0, 0), the upper left, to (1, 1).
// clang-format off
const std::array<std::vector<Glyph>, 10> glyphs{{
    {{{{.5, 0}, {.14, .18}, {.05, .5}, {.16, .85}, {.5, 1}, {.84, .84}, {.95, .5}, {.84, .16},
       {.5, 0}}}},
    {{{{.5, 0}, {.5, .5}, {.5, 1}}},
     {{{.26, .22}, {.52, 0}}, {{.52, 0}, {.5, .5}, {.5, 1}}}},
    {{{{.08, .24}, {.25, .05}, {.58, 0}, {.86, .2}, {.74, .52}, {.38, .8}, {.06, 1}},
      {{.06, 1}, {.5, .97}, {.95, .98}}},
     {{{.1, .2}, {.5, 0}, {.85, .22}, {.66, .6}, {.25, .95}, {.08, .9}, {.25, .78}, {.6, .95},
       {.96, .95}}}},
    {{{{.1, .12}, {.45, 0}, {.83, .16}, {.74, .4}, {.4, .48}},
      {{.4, .48}, {.8, .56}, {.92, .78}, {.6, 1}, {.25, .98}, {.05, .86}}}},
    {{{{.6, 0}, {.3, .36}, {.05, .66}}, {{.05, .66}, {.95, .64}}, {{.7, .3}, {.67, 1}}},
     {{{.18, 0}, {.1, .36}, {.14, .55}, {.5, .56}, {.88, .5}}, {{.82, 0}, {.76, .5}, {.7, 1}}}},
    {{{{.88, .02}, {.28, .03}}, {{.28, .03}, {.2, .44}},
      {{.2, .44}, {.5, .36}, {.84, .5}, {.88, .78}, {.55, 1}, {.08, .92}}}},
    {{{{.74, 0}, {.4, .2}, {.15, .55}, {.16, .86}, {.46, 1}, {.8, .88}, {.82, .64}, {.5, .52},
       {.17, .7}}}},
    {{{{.06, .06}, {.5, .04}, {.93, .03}}, {{.93, .03}, {.62, .45}, {.42, 1}}},
     {{{.06, .06}, {.5, .04}, {.93, .03}}, {{.93, .03}, {.62, .45}, {.42, 1}},
      {{.3, .5}, {.82, .48}}}},
    {{{{.8, .13}, {.5, 0}, {.2, .16}, {.42, .44}, {.78, .68}, {.78, .92}, {.46, 1}, {.16, .9},
       {.24, .66}, {.6, .43}, {.82, .24}, {.8, .13}}}},
    {{{{.84, .2}, {.56, .01}, {.2, .12}, {.14, .38}, {.44, .52}, {.76, .4}, {.84, .2}},
      {{.84, .2}, {.8, .6}, {.7, 1}}}},
}};
// clang-format on

double between(Random& random, double low, double high) {
  return low + (high - low) * random.uniform();
}

// The Catmull-Rom spline from b to c, between neighbours a and d, at t in [0, 1].
Point spline(Point a, Point b, Point c, Point d, double t) {
  return 0.5 * (2 * b + t * (c - a) + t * t * (2 * a - 5 * b + 4 * c - d) +
                t * t * t * (3 * b - a - 3 * c + d));
}

double distance(Point p, Point a, Point b) {
  const Point along = b - a, to = p - a;
  const double length = along.x * along.x + along.y * along.y;
  const double t =
      length > 0 ? std::clamp((to.x * along.x + to.y * along.y) / length, 0.0, 1.0) : 0;
  const Point gap = to - t * along;
  return std::hypot(gap.x, gap.y);
}

using Ink = std::array<double, digit_side * digit_side>;

// A line with round ends and soft edges.
void draw_line(Ink& ink, Point a, Point b, double radius) {
  const auto pixel = [](double position) {
    return std::clamp(static_cast<Index>(position), Index{0}, digit_side - 1);
  };
  const double reach = radius + 1;
  for (Index row = pixel(std::min(a.y, b.y) - reach); row <= pixel(std::max(a.y, b.y) + reach);
       ++row)
    for (Index column = pixel(std::min(a.x, b.x) - reach);
         column <= pixel(std::max(a.x, b.x) + reach); ++column) {
      const Point p{static_cast<double>(column), static_cast<double>(row)};
      const double value = std::clamp(radius + .5 - distance(p, a, b), 0.0, 1.0);
      double& there = ink[row * digit_side + column];
      there = std::max(there, value);
    }
}

// One of the ways to write a digit.
const Glyph& any_glyph(int digit, Random& random) {
  const auto& ways = glyphs[digit];
  return ways[random.below(std::ssize(ways))];
}

// Continues `places`, which end at the first point of a stroke, along its spline.
void follow(const Stroke& points, PenStroke& places) {
  constexpr int pieces = 5;
  const std::size_t last = points.size() - 1;
  for (std::size_t i = 0; i < last; ++i) {
    const Point a = points[i > 0 ? i - 1 : 0], b = points[i], c = points[i + 1],
                d = points[std::min(i + 2, last)];
    for (int piece = 1; piece <= pieces; ++piece)
      places.push_back(spline(a, b, c, d, static_cast<double>(piece) / pieces));
  }
}

// Equal points of a glyph move alike, so strokes that meet stay connected: the pen is not lifted.
std::vector<PenStroke> written(Glyph glyph, const Hand& hand, Random& random) {
  std::vector<PenStroke> strokes;
  Point before{-1, -1}, moved{};
  for (Stroke& stroke : glyph) {
    const bool meets = stroke.front().x == before.x && stroke.front().y == before.y;
    for (Point& point : stroke) {
      if (point.x != before.x || point.y != before.y) {
        before = point;
        moved = hand(point + Point{between(random, -.07, .07), between(random, -.05, .05)});
      }
      point = moved;
    }
    if (!meets) strokes.push_back({stroke.front()});
    follow(stroke, strokes.back());
  }
  return strokes;
}

}  // namespace

Hand::Hand(Random& random)
    : wide_(between(random, 10, 15)),
      high_(between(random, 17, 21)),
      slant_(between(random, -.15, .45)),
      angle_(between(random, -.12, .12)),
      center_{between(random, 12.3, 14.7), between(random, 12.5, 14.5)} {}

PenPlace Hand::operator()(PenPlace p) const {
  const double y = (p.y - .5) * high_, x = (p.x - .5) * wide_ - slant_ * y;
  const double c = std::cos(angle_), s = std::sin(angle_);
  return center_ + Point{c * x - s * y, s * x + c * y};
}

std::vector<PenStroke> pen_strokes(int digit, const Hand& hand, Random& random) {
  return written(any_glyph(digit, random), hand, random);
}

std::vector<std::uint8_t> draw_digit(int digit, Random& random) {
  const Glyph& glyph = any_glyph(digit, random);
  const Hand hand(random);
  const double radius = between(random, .7, 1.6), brightness = between(random, 200, 255);
  Ink ink{};
  for (const PenStroke& stroke : written(glyph, hand, random))
    for (std::size_t i = 1; i < stroke.size(); ++i)
      draw_line(ink, stroke[i - 1], stroke[i], radius);
  std::vector<std::uint8_t> pixels;
  for (const double value : ink) {
    const double noise = between(random, -40, 20);
    pixels.push_back(static_cast<std::uint8_t>(std::clamp(value * brightness + noise, 0.0, 255.0)));
  }
  return pixels;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
