#include "tapegrad/zoo/strokes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "tapegrad/core/error.h"
#include "tapegrad/core/options.h"
#include "tapegrad/core/printable.h"
#include "tapegrad/io/lines.h"
#include "tapegrad/io/sentences.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// Takes an offset and the comma behind it from the front of `text`, if they are there.
bool take_offset(std::string_view& text, real& offset) {
  constexpr double largest = 1e6;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !(std::abs(value) <= largest)) return false;
  text.remove_prefix(end - text.data());
  offset = static_cast<real>(value);
  if (!text.starts_with(',')) return false;
  text.remove_prefix(1);
  return true;
}

PenMove parse(std::string_view word, const std::string& file, Index line) {
  PenMove move{};
  std::string_view rest = word;
  const bool ok = take_offset(rest, move.dx) && take_offset(rest, move.dy);
  expect<DataError>(ok && (rest == "0" || rest == "1"),
                    "{}: line {} has a move that is not dx,dy,p with offsets of at most a million "
                    "in size and p 0 or 1: {}",
                    file, line, beginning(word));
  move.lifts = rest == "1";
  return move;
}

// Writes drawings beside each other.
class LineWriter {
 public:
  LineWriter(const StrokeLineOptions& options, Random& random)
      : options_(options), random_(random) {}

  // Appends a drawing to the line. Returns whether the line is full.
  bool append(const Strokes& drawing, Strokes& line) {
    const auto count = std::ssize(drawing);
    const Tensor noise = random_.uniform({count, 2}, -0.5, 0.5);
    const Tensor gap = random_.normal({2}, 0, 0.5);
    for (Index i = line.empty() ? 1 : 0; i < count && !full(line); ++i) {
      const PenMove& move = drawing[i];
      const auto offset = [&](real rounded, Index axis) {
        return static_cast<real>((rounded + options_.grid * noise.data()[2 * i + axis]) /
                                 options_.scale);
      };
      if (i == 0)
        line.push_back({real{1.5} + gap.data()[0], gap.data()[1], move.lifts});
      else
        line.push_back({offset(move.dx, 0), offset(move.dy, 1), move.lifts});
    }
    return full(line);
  }

 private:
  bool full(const Strokes& line) const { return std::ssize(line) == options_.moves; }

  const StrokeLineOptions& options_;
  Random& random_;
};

}  // namespace

std::vector<Strokes> read_strokes(const std::filesystem::path& path) {
  const std::string file = path.string();
  std::vector<Strokes> drawings;
  LineReader lines(path);
  while (const auto line = lines.next()) {
    Strokes& drawing = drawings.emplace_back();
    for (const std::string& word : lines.words(*line))
      drawing.push_back(parse(word, file, lines.number()));
    expect<DataError>(!drawing.empty(), "{}: line {} has no moves", file, lines.number());
    lines.keep(in_growing_vector<Strokes>);
  }
  expect<DataError>(!drawings.empty(), "{}: it has no drawings", file);
  return drawings;
}

double offset_deviation(const std::vector<Strokes>& drawings) {
  double count = 0, total = 0, squares = 0;
  for (const Strokes& drawing : drawings)
    for (std::size_t i = 1; i < drawing.size(); ++i)
      for (const double offset : {drawing[i].dx, drawing[i].dy}) {
        ++count;
        total += offset;
        squares += offset * offset;
      }
  expect<ArgumentError>(count > 0, "offset_deviation: no drawing has a second move: {} drawings",
                        drawings.size());
  const double mean = total / count;
  return std::sqrt(std::max(0.0, squares / count - mean * mean));
}

std::vector<Strokes> stroke_lines(const std::vector<Strokes>& drawings,
                                  const StrokeLineOptions& options, Random& random) {
  expect_positive("stroke_lines", "moves", options.moves);
  expect_not_negative("stroke_lines", "grid", options.grid);
  expect<ArgumentError>(options.scale > 0 && std::isfinite(options.scale),
                        "stroke_lines: the scale must be positive and finite: {}", options.scale);
  const auto count = std::ssize(drawings);
  const Indices order = options.shuffled ? random.permutation(count) : Indices();
  LineWriter writer(options, random);
  std::vector<Strokes> lines;
  Strokes line;
  for (Index i = 0; i < count; ++i) {
    const Index chosen = order.defined() ? order.data()[i] : i;
    if (!writer.append(drawings[chosen], line)) continue;
    lines.push_back(std::move(line));
    line.clear();
  }
  expect<ArgumentError>(!lines.empty(),
                        "stroke_lines: {} drawings are too few for a line of {} moves", count,
                        options.moves);
  return lines;
}

StrokeBatch stroke_batch(std::span<const Strokes> lines) {
  expect<ArgumentError>(!lines.empty(), "stroke_batch: needs a line at least: {}", lines.size());
  const auto batch = std::ssize(lines);
  Indices lengths = Indices::uninitialized({batch});
  for (Index b = 0; b < batch; ++b) lengths.mutable_data()[b] = std::ssize(lines[b]);
  Tensor moves = zeros({*std::ranges::max_element(lengths.values()), batch, 3});
  for (Index b = 0; b < batch; ++b) {
    real* next = moves.mutable_data() + 3 * b;
    for (const PenMove& move : lines[b]) {
      next[0] = move.dx;
      next[1] = move.dy;
      next[2] = move.lifts ? 1 : 0;
      next += 3 * batch;
    }
  }
  return {moves, lengths};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
