#include "tapegrad/core/place.h"

#include <catch2/catch.hpp>

#include "tapegrad/core/error.h"

using namespace tapegrad;

TEST_CASE("a place is the line of the call", "[core]") {
  const auto called = [](Place place = Place::here()) { return place; };
  CHECK(called().line == __LINE__);
  CHECK(to_string(Place{"folder/train.cpp", 42}) == "train.cpp:42");
}

TEST_CASE("the outermost scope names the place", "[core]") {
  const Place outer{"outer.cpp", 1}, inner{"inner.cpp", 2}, own{"own.cpp", 3};
  CHECK(to_string(PlaceScope::current(own)) == "own.cpp:3");
  {
    const PlaceScope caller(outer);
    const PlaceScope callee(inner);
    CHECK(to_string(PlaceScope::current(own)) == "outer.cpp:1");
  }
  CHECK(to_string(PlaceScope::current(own)) == "own.cpp:3");
}

TEST_CASE("an error within a scope names its place", "[core]") {
  CHECK_THROWS_WITH(expect(false, "sum: axis {}", 2), "sum: axis 2");
  const Place outer{"folder/outer.cpp", 1}, inner{"inner.cpp", 2};
  const PlaceScope caller(outer);
  const PlaceScope callee(inner);
  CHECK_THROWS_WITH(expect(false, "sum: axis {}", 2), "sum: axis 2 [outer.cpp:1]");
  CHECK_THROWS_AS(fail<TapeError>("grad"), TapeError);
}
