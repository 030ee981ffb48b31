// Drawings of pen strokes: they survive writing and reading again, and lines of them are full.

#include "tapegrad/zoo/strokes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attack.h"
#include "tapegrad/core/error.h"

namespace tapegrad::attack {
namespace {

std::string written(const std::vector<Strokes>& drawings) {
  std::string text;
  for (const Strokes& drawing : drawings) {
    for (const auto& [dx, dy, lifts] : drawing) text += fmt::format("{},{},{:d} ", dx, dy, lifts);
    text += "\n";
  }
  return text;
}

}  // namespace

void attack(std::string_view input) {
  const std::vector<Strokes> drawings = read_strokes(File(input).path());
  const File again(written(drawings), File::Kind::mapped);
  expect_property(written(read_strokes(again.path())) == written(drawings),
                  "drawings survive writing");
  constexpr Index moves = 3;
  refuses([&] {
    Random random(1);
    const auto lines =
        stroke_lines(drawings, {.moves = moves, .grid = 1, .shuffled = true}, random);
    const StrokeBatch batch = stroke_batch(lines);
    expect_property(batch.moves.shape() == Shape{moves, std::ssize(lines), 3}, "lines are full");
    expect_property(std::ranges::all_of(batch.moves.values(),
                                        [](real offset) { return std::abs(offset) < 1.1e6; }),
                    "offsets are bounded");
  });
}

}  // namespace tapegrad::attack
