#include "data/handwriting_sets.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <numbers>

#include "data/handwriting_picture.h"
#include "problems/handwriting.h"
#include "support/digits.h"
#include "support/find_all.h"
#include "support/scratch.h"
#include "tapegrad/core/error.h"

using namespace tapegrad;
using namespace tapegrad::problems;
using namespace tapegrad::support;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

double length(PenPlace a, PenPlace b) { return std::hypot(b.x - a.x, b.y - a.y); }
double length(const PenMove& move) { return std::hypot(move.dx, move.dy); }

}  // namespace

TEST_CASE("digits are written in strokes that hang together") {
  Random random(1);
  for (int i = 0; i < 500; ++i) {
    const int digit = i % 10;
    const Hand hand(random);
    const std::vector<PenStroke> strokes = pen_strokes(digit, hand, random);
    INFO(digit);
    CHECK(strokes.size() <= (digit == 4 || digit == 7 ? 2 : 1));
    CHECK((digit != 4 || strokes.size() == 2));
    for (const PenStroke& stroke : strokes) {
      REQUIRE(stroke.size() > 4);
      for (std::size_t j = 1; j < stroke.size(); ++j) {
        CHECK(length(stroke[j - 1], stroke[j]) < 5);
        CHECK(std::max(std::abs(stroke[j].x - 14), std::abs(stroke[j].y - 14)) < 18);
      }
    }
  }
}

TEST_CASE("a line of digits has moves of one length but between strokes") {
  Random random(2);
  const WrittenLine line = write_digits(digits_of("4711"), random);
  CHECK(line.digits == std::vector<Index>{4, 7, 1, 1});
  CHECK(line.moves.back().lifts);
  const auto lifts = std::ranges::count_if(line.moves, &PenMove::lifts);
  CHECK((lifts == 5 || lifts == 6));  // 7 may have a bar
  bool lifted = false;
  double right = 0;
  for (const PenMove& move : line.moves) {
    if (!lifted) CHECK(length(move) == Approx(1).margin(0.65));
    lifted = move.lifts;
    right += move.dx;
  }
  // Three digits on, of 10 to 15 pixels and distances of 1.3 of them, in moves of 2.5 pixels.
  CHECK(right > 3 * 1.3 * 10 / 2.5 - 7);
  CHECK(right < 3 * 1.3 * 15 / 2.5 + 7);
  CHECK_THROWS_AS(write_digits({}, random), ArgumentError);
  CHECK_THROWS_WITH(digits_of("31x"), Contains("\"31x\""));
  CHECK_THROWS_AS(digits_of(""), ArgumentError);
}

TEST_CASE("an epoch has 800 lines of 8 to 12 digits, others in the next") {
  const HandwritingSets sets = write_handwriting_sets(3);
  CHECK(sets.digest == write_handwriting_sets(3).digest);
  CHECK(sets.digest != write_handwriting_sets(4).digest);
  CHECK(sets.test_digest() != write_handwriting_sets(4).test_digest());
  Random random(5);
  const auto first = sets.train(random), second = sets.train(random);
  REQUIRE(first.size() == 800);
  const auto [least, most] =
      std::ranges::minmax(first, {}, [](const WrittenLine& line) { return line.digits.size(); });
  CHECK(least.digits.size() == 8);
  CHECK(most.digits.size() == 12);
  CHECK(first[0].moves[0].dx != second[0].moves[0].dx);
}

TEST_CASE("drawings are joined anew for each epoch, and once for validation") {
  const testing::Scratch folder;
  const std::string drawing = "0,0,0 6,0,0 0,-12,1 -6,6,0 18,0,1\n";
  for (const char* part : {"train", "valid", "test"}) {
    std::ofstream file(folder / fmt::format("omniglot.{}.txt", part));
    for (int i = 0; i < 200; ++i) file << drawing;
  }
  const std::string directory = folder / "";
  const HandwritingSets sets = read_handwriting_sets("omniglot", directory, 7);
  CHECK(sets.lines.scale == Approx(std::sqrt(72 - 2.25)));
  CHECK(sets.lines.grid == 6);
  CHECK(sets.validation.size() == 64);
  CHECK(sets.test.size() == 100);
  CHECK(sets.test[0].digits.empty());
  const auto again = read_handwriting_sets("omniglot", directory, 7);
  CHECK(again.test[5].moves[3].dx == sets.test[5].moves[3].dx);
  CHECK(again.digest == sets.digest);
  Random random(6);
  const auto first = sets.train(random), second = sets.train(random);
  CHECK(first.size() == 100);
  CHECK(first[0].moves[0].dx != second[0].moves[0].dx);
  CHECK_THROWS_WITH(read_handwriting_sets("kanji", directory, 7), Contains("short_kanji."));
}

TEST_CASE("baselines are the cost of normal distributions") {
  Random random(7);
  const Tensor offsets = random.normal({2, 20000});
  // Down and lifted in turn; lifted moves are 5 further to the right. The correlation is 0.6.
  WrittenLine line;
  for (Index i = 0; i < 20000; ++i) {
    const real x = offsets.data()[i], other = offsets.data()[20000 + i];
    line.moves.push_back(
        {x + static_cast<real>(5 * (i % 2)), 2 * (real{0.6} * x + real{0.8} * other), i % 2 == 0});
  }
  const auto [one, by_pen] = handwriting_baselines({line}, {line});
  const double normal = std::log(2 * std::numbers::pi) + 1;
  const double determinant = 4 * (1 - 0.36), of_all = 4 * (1 + 6.25) - 1.2 * 1.2;
  CHECK(by_pen == Approx(normal + std::log(determinant) / 2).margin(0.02));
  CHECK(one == Approx(normal + std::log(of_all) / 2 + std::log(2.0)).margin(0.02));
}

TEST_CASE("a batch counts its moves and shows its texts") {
  Random random(8);
  const std::vector<WrittenLine> lines{write_digits({3, 1}, random), write_digits({5}, random)};
  const HandwritingBatch batch = handwriting_batch(lines);
  const double moves = static_cast<double>(lines[0].moves.size() + lines[1].moves.size());
  CHECK(batch.moves() == moves);
  CHECK(sum(batch.counted()).item() == static_cast<real>(moves));
  CHECK(batch.text.shape() == Shape{2, 2, 10});
  CHECK(sum(batch.text).item() == 3);
  CHECK(batch.text.data()[3] == 1);
  CHECK(batch.text.data()[20 + 5] == 1);
  const std::vector<WrittenLine> silent{{lines[0].moves, {}}};
  CHECK_FALSE(handwriting_batch(silent).text.defined());
}

TEST_CASE("a picture draws nothing while the pen is lifted") {
  const Tensor moves({5, 3}, {1, 0, 0, 1, 1, 1, 5, 5, 0, 1, 0, 0, 1, 0, 1});
  const std::string plain = handwriting_picture({{"a <line>", moves, ""}});
  CHECK(count(plain, "class=\"line ") == 2);
  CHECK(count(plain, "a &lt;line&gt;") == 1);
  // A mean place of 1/4, 1/4, .. in a text of two characters, then of 3/4.
  const Tensor weights({5, 2}, {3, 1, 3, 1, 3, 1, 1, 3, 1, 3});
  const std::string seen = handwriting_picture({{"a line", moves, "12", weights}});
  CHECK(count(seen, "class=\"line blue\"") == 1);
  CHECK(count(seen, "class=\"line orange\"") == 1);
  CHECK(count(seen, "class=\"line faint\"") == 1);
}

TEST_CASE("a picture ends a line before the first move that is not finite") {
  const auto drawn = [](const Tensor& moves) { return handwriting_picture({{"", moves, ""}}); };
  CHECK(drawn({{3, 3}, {1, 0, 0, NAN, 1, 0, 1, 0, 0}}) == drawn({{1, 3}, {1, 0, 0}}));
  CHECK(drawn({{3, 3}, {1, 0, 0, 1, INFINITY, 0, 1, 0, 0}}) == drawn({{1, 3}, {1, 0, 0}}));
}
