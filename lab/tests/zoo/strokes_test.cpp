#include "tapegrad/zoo/strokes.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>

#include "support/child.h"
#include "support/files.h"
#include "support/scratch.h"
#include "tapegrad/core/error.h"

using namespace tapegrad;
using Catch::Contains;

namespace {

std::vector<Strokes> read(const std::string& contents) {
  const testing::Scratch folder;
  std::ofstream(folder / "strokes.txt", std::ios::binary) << contents;
  return read_strokes(folder / "strokes.txt");
}

// `count` drawings of two strokes each, with whole offsets.
std::vector<Strokes> drawings(Index count) {
  const Strokes one{{9, 9, false}, {6, 0, false}, {0, -12, true}, {-6, 6, false}, {18, 0, true}};
  return std::vector<Strokes>(static_cast<std::size_t>(count), one);
}

}  // namespace

TEST_CASE("drawings are read, one per line", "[files]") {
  const auto found = read("0,0,0 -12.5,3e2,1\r\n\t1,2,1");
  REQUIRE(found.size() == 2);
  REQUIRE(found[0].size() == 2);
  CHECK(found[0][1].dx == real{-12.5});
  CHECK(found[0][1].dy == 300);
  CHECK(found[0][1].lifts);
  CHECK_FALSE(found[0][0].lifts);
  CHECK(found[1].size() == 1);
}

TEST_CASE("what is not a drawing is refused with file and line", "[files]") {
  CHECK_THROWS_WITH(read("1,2,1\n\n1,2,1\n"), Contains("strokes.txt: line 2 has no moves"));
  CHECK_THROWS_WITH(read(""), Contains("strokes.txt: it has no drawings"));
  CHECK_NOTHROW(read("1000000,-1000000,1"));
  for (const char* bad :
       {"1,2,2", "1,2,-1", "1,2,0.0", "1,2,", "1,2", "1,2,1,", "1,2,01", "1;2;1", "x,2,1", "1,,1",
        ",,", "1000001,2,1", "1,-1e7,1", "nan,2,1", "1,inf,1", "1e999,2,1", "+1,2,1", "0x1,2,1"}) {
    INFO(bad);
    CHECK_THROWS_WITH(read("1,2,1\n3,4,0 " + std::string(bad) + "\n"),
                      Contains("strokes.txt: line 2 has a move that is not dx,dy,p") &&
                          Contains(std::string(": ") + bad));
    CHECK_THROWS_AS(read(bad), DataError);
  }
}

TEST_CASE("the deviation of offsets leaves first moves out", "[data]") {
  // 6, 0, 0, -12, -6, 6, 18, 0: mean 1.5, mean square 72
  CHECK(offset_deviation(drawings(3)) == Approx(std::sqrt(72 - 2.25)));
  CHECK_THROWS_AS(offset_deviation({{{1, 2, true}}}), ArgumentError);
}

TEST_CASE("lines are drawings beside each other, cut", "[data]") {
  Random random(1);
  const auto lines = stroke_lines(drawings(5), {.moves = 7, .scale = 3}, random);
  REQUIRE(lines.size() == 2);  // of two drawings each; the fifth fills none
  for (const Strokes& line : lines) {
    REQUIRE(line.size() == 7);
    CHECK(line[0].dx == 2);
    CHECK(line[1].dy == -4);
    CHECK(line[1].lifts);
    CHECK(std::abs(line[4].dx - 1.5) < 2.5);
    CHECK(line[4].dx != 3);  // in place of a first move
    CHECK_FALSE(line[4].lifts);
    CHECK(line[5].dx == 2);
  }
  CHECK(lines[0][4].dx != lines[1][4].dx);
}

TEST_CASE("gaps between drawings and noise have their distributions", "[data]") {
  Random random(2);
  const auto lines = stroke_lines(drawings(20000), {.moves = 9, .grid = 6, .scale = 2}, random);
  double right = 0, right_squares = 0, down = 0, noise = 0, noise_squares = 0, largest = 0;
  for (const Strokes& line : lines) {
    right += line[4].dx;
    right_squares += line[4].dx * line[4].dx;
    down += line[4].dy;
    const double off = line[1].dy + 6;
    noise += off;
    noise_squares += off * off;
    largest = std::max(largest, std::abs(off));
  }
  const auto count = static_cast<double>(lines.size());
  REQUIRE(count == 10000);
  CHECK(right / count == Approx(1.5).margin(0.02));
  CHECK(down / count == Approx(0).margin(0.02));
  CHECK(right_squares / count - std::pow(right / count, 2) == Approx(0.25).epsilon(0.05));
  CHECK(noise / count == Approx(0).margin(0.04));
  CHECK(noise_squares / count == Approx(0.75).epsilon(0.05));  // U(+-1.5)
  CHECK(largest <= 1.5);
  CHECK(largest > 1.45);
}

TEST_CASE("shuffled lines take each drawing once, in an order that the seed decides", "[data]") {
  std::vector<Strokes> numbered;
  for (int i = 0; i < 50; ++i) numbered.push_back({{0, 0, false}, {static_cast<real>(i), 0, true}});
  const auto order = [&](std::uint64_t seed) {
    Random random(seed);
    std::vector<real> found;
    for (const Strokes& line : stroke_lines(numbered, {.moves = 1, .shuffled = true}, random))
      found.push_back(line[0].dx);
    return found;
  };
  std::vector<real> found = order(1);
  CHECK(found == order(1));
  CHECK(found != order(2));
  CHECK_FALSE(std::ranges::is_sorted(found));
  std::ranges::sort(found);
  for (std::size_t i = 0; i < 50; ++i) CHECK(found[i] == static_cast<real>(i));
}

TEST_CASE("lines refuse what they cannot be made of", "[data]") {
  Random random(1);
  const auto lines = [&](StrokeLineOptions options) {
    return stroke_lines(drawings(1), options, random);
  };
  CHECK_THROWS_AS(lines({.moves = 0}), ArgumentError);
  CHECK_THROWS_AS(lines({.moves = 1, .grid = -1}), ArgumentError);
  CHECK_THROWS_AS(lines({.moves = 1, .scale = 0}), ArgumentError);
  CHECK_THROWS_WITH(lines({.moves = 5}), Contains("1 drawings are too few for a line of 5 moves"));
}

TEST_CASE("a batch has lines side by side, and 0 behind their ends", "[data]") {
  const std::vector<Strokes> lines{{{1, 2, false}, {3, 4, true}}, {{5, 6, true}}};
  const auto [moves, lengths] = stroke_batch(lines);
  CHECK(moves.shape() == Shape{2, 2, 3});
  CHECK(std::ranges::equal(moves.values(), std::vector<real>{1, 2, 0, 5, 6, 1, 3, 4, 1, 0, 0, 0}));
  CHECK(std::ranges::equal(lengths.values(), std::vector<Index>{2, 1}));
  CHECK_THROWS_AS(stroke_batch({}), ArgumentError);
}

// These would take 20 times as much as they unpack to.
TEST_CASE("a small file of drawings does not become a large one in memory", "[files][memory]") {
  const testing::Scratch folder;
  const auto path = folder / "bomb.gz";
  testing::write_repeated(path, "0,0,0\n", 30 * testing::mebibyte);
  const testing::PeakMemory peak;
  CHECK_THROWS_WITH(read_strokes(path), testing::too_much_of(path));
  if (const auto bytes = peak.bytes()) CHECK(*bytes < 300 * testing::mebibyte);
}
