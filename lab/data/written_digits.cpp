#include "data/written_digits.h"

#include <algorithm>
#include <cmath>

#include "support/digits.h"
#include "tapegrad/core/error.h"

namespace tapegrad::TAPEGRAD_SCALAR::support {
namespace {

constexpr double pen_step = 2.5;        // of the pen, in pixels
constexpr double tremble = 0.1;         // deviation of a place, in steps
constexpr double digit_distance = 1.3;  // between digits, in their widths

double length(PenPlace move) { return std::hypot(move.x, move.y); }

// Places at equal distances along a stroke, of about a step, with both of its ends.
PenStroke spaced(const PenStroke& stroke) {
  double whole = 0;
  for (std::size_t i = 1; i < stroke.size(); ++i) whole += length(stroke[i] - stroke[i - 1]);
  const double spacing = whole / std::max(1.0, std::round(whole / pen_step));
  PenStroke places{stroke.front()};
  double to_next = spacing;  // along the stroke, from its place i - 1
  for (std::size_t i = 1; i < stroke.size(); ++i) {
    const PenPlace piece = stroke[i] - stroke[i - 1];
    for (; to_next < length(piece); to_next += spacing)
      places.push_back(stroke[i - 1] + to_next / length(piece) * piece);
    to_next -= length(piece);
  }
  // Rounding decides whether the last place is already there.
  if (to_next < spacing / 2) places.push_back(stroke.back());
  return places;
}

// A pen on its way from place to place.
class Pen {
 public:
  explicit Pen(Random& random) : random_(random) {}

  void draw(const PenStroke& stroke, Strokes& moves) {
    for (std::size_t i = 0; i < stroke.size(); ++i) {
      const Tensor off = random_.normal({2}, 0, tremble * pen_step);
      const PenPlace next = stroke[i] + PenPlace{off.data()[0], off.data()[1]};
      const PenPlace move = 1 / pen_step * (next - at_);
      at_ = next;
      if (down_)
        moves.push_back(
            {static_cast<real>(move.x), static_cast<real>(move.y), i + 1 == stroke.size()});
      down_ = true;  // the first place is where the line begins
    }
  }

 private:
  Random& random_;
  PenPlace at_{0, 0};
  bool down_ = false;
};

}  // namespace

std::vector<Index> digits_of(const std::string& text) {
  const bool right = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  expect<ArgumentError>(right, "digits: a text must consist of digits: \"{}\"", text);
  std::vector<Index> digits;
  for (const char c : text) digits.push_back(c - '0');
  return digits;
}

WrittenLine write_digits(const std::vector<Index>& digits, Random& random) {
  expect<ArgumentError>(!digits.empty(), "write_digits: needs a digit at least: {}", digits.size());
  const Hand hand(random);
  Pen pen(random);
  WrittenLine line{{}, digits};
  PenPlace corner{0, 0};
  for (const Index digit : digits) {
    for (PenStroke& stroke : pen_strokes(static_cast<int>(digit), hand, random)) {
      for (PenPlace& place : stroke) place = place + corner;
      pen.draw(spaced(stroke), line.moves);
    }
    corner.x += digit_distance * hand.width();
  }
  return line;
}

std::vector<WrittenLine> write_lines(Index count, Random& random) {
  std::vector<WrittenLine> lines;
  for (Index i = 0; i < count; ++i) {
    std::vector<Index> digits(8 + random.below(5));
    std::ranges::generate(digits, [&] { return random.below(10); });
    lines.push_back(write_digits(digits, random));
  }
  return lines;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::support
