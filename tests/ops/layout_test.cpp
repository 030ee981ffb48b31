#include "tapegrad/ops/layout.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "support/values.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/tape.h"

using namespace tapegrad;
using namespace tapegrad::testing;

TEST_CASE("elements go where the layout has them", "[ops]") {
  const Tensor x({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(is(transpose(x), {3, 2}, {1, 4, 2, 5, 3, 6}));
  CHECK(is(permute(reshape(x, {1, 2, 3}), {2, 0, 1}), {3, 1, 2}, {1, 4, 2, 5, 3, 6}));
  CHECK(is(reshape(x, {3, -1}), {3, 2}, {1, 2, 3, 4, 5, 6}));
  CHECK(is(slice(x, 1, 0, 3, 2), {2, 2}, {1, 3, 4, 6}));
  CHECK(is(select(x, 1), {3}, {4, 5, 6}));
  CHECK(is(concat({x, select(x, 0).view({1, 3})}), {3, 3}, {1, 2, 3, 4, 5, 6, 1, 2, 3}));
  CHECK(is(stack({select(x, 0), select(x, 1)}, 1), {3, 2}, {1, 4, 2, 5, 3, 6}));
  CHECK(is(split(x, {1, 2}, 1)[1], {2, 2}, {2, 3, 5, 6}));
  CHECK(is(pad(x, {{1, 0}}, -1), {2, 4}, {-1, 1, 2, 3, -1, 4, 5, 6}));
  CHECK(is(tril(x), {2, 3}, {1, 0, 0, 4, 5, 0}));
  CHECK(is(triu(x, 1), {2, 3}, {0, 2, 3, 0, 0, 6}));
}

TEST_CASE("elements are reversed, moved round and repeated", "[ops]") {
  const Tensor x({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto is = [](const Tensor& y, const Shape& shape, const std::vector<real>& values) {
    CHECK(y.shape() == shape);
    CHECK(std::equal(values.begin(), values.end(), y.values().begin(), y.values().end()));
  };
  is(flip(x), {2, 3}, {6, 5, 4, 3, 2, 1});
  is(flip(x, 0), {2, 3}, {4, 5, 6, 1, 2, 3});
  is(flip(x, -1), {2, 3}, {3, 2, 1, 6, 5, 4});
  is(flip(Tensor(2)), {}, {2});
  is(roll(x, 1), {2, 3}, {3, 1, 2, 6, 4, 5});
  is(roll(x, -4, 1), {2, 3}, {2, 3, 1, 5, 6, 4});
  is(roll(x, 7, 0), {2, 3}, {4, 5, 6, 1, 2, 3});
  is(roll(x, 0), {2, 3}, {1, 2, 3, 4, 5, 6});
  is(tile(x, {2}), {2, 6}, {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  is(tile(Tensor({2}, {1, 2}), {2, 1, 2}), {2, 1, 4}, {1, 2, 1, 2, 1, 2, 1, 2});
  is(tile(x, {}), {2, 3}, {1, 2, 3, 4, 5, 6});
  is(tile(Tensor(3), {2}), {2}, {3, 3});
  is(repeat_interleave(x, 2), {2, 6}, {1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6});
  is(repeat_interleave(x, 2, 0), {4, 3}, {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  for (const Tensor& y : {flip(zeros({0, 3})), roll(zeros({0, 3}), 2, 0),
                          tile(zeros({1, 3}), {0, 1}), repeat_interleave(zeros({1, 3}), 0, 0)})
    CHECK(y.shape() == Shape{0, 3});
}

TEST_CASE("axes and counts that cannot be are refused", "[ops]") {
  const Tensor x = ones({2, 3});
  CHECK_THROWS_AS(flip(x, 2), ShapeError);
  for (const Index position : {-3, 2})
    CHECK_THROWS_WITH(select(x, position),
                      Catch::StartsWith(fmt::format(
                          "select: position {} does not fit axis 0 of (2, 3)", position)));
  CHECK_THROWS_AS(flip(x, {0, -2}), ShapeError);
  CHECK_THROWS_AS(roll(x, 1, 2), ShapeError);
  CHECK_THROWS_AS(roll(Tensor(1), 1), ShapeError);
  CHECK_THROWS_WITH(tile(x, {-1}), Catch::StartsWith("tile: a count is negative: -1"));
  CHECK_THROWS_AS(tile(x, {Index{1} << 62}), ShapeError);
  CHECK_THROWS_WITH(repeat_interleave(x, -1),
                    Catch::StartsWith("repeat_interleave: the count is negative: -1"));
  CHECK_THROWS_AS(repeat_interleave(x, Index{1} << 62), ShapeError);
}

TEST_CASE("an index takes positions and slices of each axis", "[ops]") {
  const Tensor x({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(is(at(x, {}), {2, 3}, {1, 2, 3, 4, 5, 6}));
  CHECK(is(at(x, {1}), {3}, {4, 5, 6}));
  CHECK(is(at(x, {-1, -3}), {}, {4}));
  CHECK(is(at(x, {Slice{}, 1}), {2}, {2, 5}));
  CHECK(is(at(x, {0, Slice{1}}), {2}, {2, 3}));
  CHECK(is(at(x, {Slice{}, Slice{0, -1}}), {2, 2}, {1, 2, 4, 5}));
  CHECK(is(at(x, {Slice{}, Slice{-2}}), {2, 2}, {2, 3, 5, 6}));
  CHECK(is(at(x, {Slice{}, Slice{.step = 2}}), {2, 2}, {1, 3, 4, 6}));
  CHECK(is(at(x, {Slice{}, Slice{.step = 5}}), {2, 1}, {1, 4}));
  CHECK(is(at(x, {Slice{1, 1}}), {0, 3}, {}));
  CHECK(is(at(x, {ellipsis, 2}), {2}, {3, 6}));
  CHECK(is(at(x, {0, ellipsis, 2}), {}, {3}));  // an ellipsis may stand for nothing
  CHECK(is(at(x, {new_axis, ellipsis, new_axis, 0}), {1, 2, 1}, {1, 4}));
  CHECK(is(at(Tensor(7), {new_axis, ellipsis}), {1}, {7}));
  CHECK(at(x, {0}).data() == x.data());  // nothing is copied
}

TEST_CASE("an index that does not fit is refused by name", "[ops]") {
  const Tensor x = ones({2, 3});
  CHECK_THROWS_WITH(at(x, {0, 3}),
                    Catch::StartsWith("at: position 3 does not fit axis 1 of (2, 3) ["));
  CHECK_THROWS_WITH(at(x, {-3}), Catch::StartsWith("at: position -3 does not fit axis 0"));
  CHECK_THROWS_WITH(at(x, {0, Slice{1, 4}}),
                    Catch::StartsWith("at: [1, 4) in steps of 1 does not fit axis 1 of (2, 3) ["));
  CHECK_THROWS_WITH(at(x, {Slice{2, 1}}), Catch::StartsWith("at: [2, 1)"));
  CHECK_THROWS_WITH(at(x, {Slice{.step = -1}}),
                    Catch::StartsWith("at: a step must be at least 1: -1 along axis 0 of (2, 3); "
                                      "reverse with flip ["));
  CHECK_THROWS_WITH(slice(x, 1, 0, 3, 0), Catch::StartsWith("slice: a step must be at least 1"));
  CHECK_THROWS_WITH(at(x, {0, 0, 0}),
                    Catch::StartsWith("at: more positions and slices than axes: 3 for (2, 3) ["));
  CHECK_THROWS_AS(at(x, {ellipsis, 0, ellipsis}), ArgumentError);
  CHECK_THROWS_AS(at(x, std::vector<AxisIndex>(7, new_axis)), ShapeError);  // too many axes
}
