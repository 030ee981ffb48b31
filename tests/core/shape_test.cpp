#include <catch2/catch.hpp>

#include "tapegrad/core/error.h"
#include "tapegrad/core/shape.h"

using namespace tapegrad;

TEST_CASE("a shape knows its extents", "[core]") {
  const Shape shape{2, 3, 4};
  CHECK(shape.rank() == 3);
  CHECK(shape.size() == 24);
  CHECK(shape[-1] == 4);
  CHECK(to_string(shape) == "(2, 3, 4)");
  CHECK(Shape{}.size() == 1);
  CHECK(Shape{3, 0}.size() == 0);
  CHECK(shape.insert(-1, 5) == Shape{2, 3, 4, 5});
  CHECK(shape.without(1) == Shape{2, 4});
  CHECK_THROWS_AS(shape[3], ShapeError);
  CHECK_THROWS_AS(Shape({-1}), ShapeError);
  CHECK_THROWS_AS(Shape({Index{1} << 40, Index{1} << 40}), ShapeError);
}

TEST_CASE("shapes broadcast as in NumPy", "[core]") {
  CHECK(broadcast("add", {4, 1, 3}, {2, 1}) == Shape{4, 2, 3});
  CHECK(broadcast("add", {}, {2, 1}) == Shape{2, 1});
  CHECK(broadcast("add", {0, 3}, {1, 3}) == Shape{0, 3});
  CHECK_THROWS_WITH(broadcast("add", {2, 3}, {4}), "add: shapes do not broadcast: (2, 3) and (4)");
}
