#include "tapegrad/io/text.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "support/sections.h"
#include "tapegrad/core/error.h"

using namespace tapegrad;
using Catch::Contains;
using testing::sections_of;

namespace {

Indices counting(Index count) {
  Indices ids = Indices::uninitialized({count});
  for (Index i = 0; i < count; ++i) ids.mutable_data()[i] = i;
  return ids;
}

}  // namespace

TEST_CASE("characters of a text", "[text]") {
  const Characters characters("banana\n\xff");
  CHECK(characters.bytes() == "\nabn\xff");
  const Indices ids = characters.encode("nab\xff");
  CHECK(std::vector<Index>(ids.values().begin(), ids.values().end()) ==
        std::vector<Index>{3, 1, 2, 4});
  CHECK(characters.decode(ids) == "nab\xff");
  CHECK(characters.encode("").size() == 0);
  CHECK_THROWS_WITH(characters.encode("bac"), Contains("0x63") && Contains("position 2"));
  CHECK_THROWS_AS(characters.decode(Indices({1}, {5})), ShapeError);
  CHECK(Characters("").count() == 0);
}

TEST_CASE("a long text is read by several threads", "[text][threads]") {
  std::string text(200'000, 'a');
  text.back() = 'c';
  const Characters characters(text);
  CHECK(characters.bytes() == "ac");
  CHECK(sections_of([&] { Characters{text}; }) == std::vector<Index>{4});
  CHECK(sections_of([&] { characters.encode(text); }) == std::vector<Index>{4});
  const Indices ids = characters.encode(text);
  CHECK(std::ranges::count(ids.values(), 0) == 199'999);
  CHECK(ids.values().back() == 1);
  text[70'000] = text[150'000] = 'b';
  CHECK_THROWS_WITH(characters.encode(text), Contains("0x62") && Contains("position 70000"));
}

TEST_CASE("a text is split in two", "[text]") {
  for (Index count = 0; count < 1000; ++count) {
    const TextSplit split = split_text(counting(count));
    CHECK(split.training.size() == count * 9 / 10);
    CHECK(split.validation.size() == count - count * 9 / 10);
  }
  const TextSplit half = split_text(counting(5), 0.5);
  CHECK(half.training.values().back() == 1);
  CHECK(half.validation.values().front() == 2);
  CHECK(half.validation.values().back() == 4);
  CHECK_THROWS_WITH(split_text(counting(5), 1), "split_text: share must lie in [0, 1): 1");
}

TEST_CASE("rows and streams of a text", "[text]") {
  const Indices ids = counting(25);
  Random random(1);
  const TextBatch rows = random_rows(ids, 200, 4, random);
  CHECK(rows.inputs.shape() == Shape{200, 4});
  Index least = 100, greatest = 0;
  for (Index i = 0; i < rows.inputs.size(); ++i) {
    CHECK(rows.targets.data()[i] == rows.inputs.data()[i] + 1);
    least = std::min(least, rows.inputs.data()[i]);
    greatest = std::max(greatest, rows.targets.data()[i]);
  }
  CHECK(least == 0);
  CHECK(greatest == 24);
  CHECK_THROWS_WITH(random_rows(counting(4), 1, 4, random), Contains("too few"));
  CHECK(random_rows(counting(5), 1, 4, random).inputs.data()[0] == 0);

  const TextStreams streams(ids, 2, 5);  // 24 targets: two streams of two blocks
  REQUIRE(streams.blocks() == 2);
  CHECK(streams.block(0).inputs.data()[0] == 0);
  CHECK(streams.block(0).inputs.data()[5] == 10);
  CHECK(streams.block(1).inputs.data()[0] == 5);
  CHECK(streams.block(1).targets.data()[9] == 20);
  CHECK_THROWS_WITH(TextStreams(ids, 5, 5), Contains("too few"));
}

TEST_CASE("blocks of a text have every token but the first as a target once", "[text]") {
  for (const Index count : {0, 1, 2, 5, 6, 24, 25, 100})
    for (const Index rows : {1, 3, 64}) {
      CAPTURE(count, rows);
      std::map<Index, int> seen;
      for (const auto& group : text_blocks(counting(count), rows, 5)) {
        Index expected = -1;
        for (const TextBatch& batch : group) {
          for (const Index target : batch.targets.values()) ++seen[target];
          // blocks of a group follow each other in each row
          if (expected >= 0) CHECK(batch.inputs.data()[0] == expected);
          expected = batch.targets.data()[batch.targets.shape()[1] - 1];
        }
      }
      CHECK(static_cast<Index>(seen.size()) == std::max<Index>(0, count - 1));
      for (const auto& [target, times] : seen) CHECK(times == 1);
    }
}

TEST_CASE("rows of a text lie within it", "[text]") {
  const Indices ids({5}, {0, 1, 2, 3, 4});
  CHECK_THROWS_AS(transposed(ids), ShapeError);
  CHECK(text_rows(ids, {0, 2}, 2).targets.values()[3] == 4);
  CHECK_THROWS_WITH(text_rows(ids, {3}, 2), Contains("do not fit at 3 of 5"));
  CHECK_THROWS_AS(text_rows(ids, {-1}, 2), ShapeError);
  CHECK_THROWS_AS(TextStreams(ids, 0, 2), ArgumentError);
  CHECK_THROWS_AS(TextStreams(ids, 1, 0), ArgumentError);
  CHECK_THROWS_AS(text_blocks(ids, 0, 2), ArgumentError);
  CHECK_THROWS_AS(text_blocks(ids, 2, 0), ArgumentError);
}
