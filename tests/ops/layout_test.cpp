#include "tapegrad/ops/layout.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

using namespace tapegrad;

namespace {

bool is(const Tensor& x, const Shape& shape, const std::vector<real>& expected) {
  return x.shape() == shape && std::equal(expected.begin(), expected.end(), x.data());
}

}  // namespace

TEST_CASE("elements go where the layout says", "[ops]") {
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
