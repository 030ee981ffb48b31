#include "tapegrad/core/indices.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "tapegrad/core/error.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using Catch::Contains;

TEST_CASE("indices that something shares cannot be written", "[core]") {
  const Tape tape;
  const Tensor table = watch(ones({3, 1}));
  Indices ids({2}, {0, 1});
  const Tensor y = sum(embedding(table, ids) * 2.0);
  CHECK_THROWS_WITH(ids.mutable_data(), Contains("mutable_data") && Contains("share"));
  CHECK(grad(y, table).values()[2] == 0);
  Indices copy({1}, {7});
  const Indices other = copy;
  CHECK_THROWS_AS(copy.mutable_data(), Error);
  CHECK(other.values()[0] == 7);
  CHECK_THROWS_WITH(Indices().mutable_data(), Contains("undefined"));
  CHECK_THROWS_WITH(Indices().reshape({}), Contains("undefined"));
}

TEST_CASE("indices take whole numbers of any type and an extent to infer", "[core]") {
  const std::vector<int> numbers{3, -1, 4, 1, 5, 9};
  const Indices x({6}, numbers);
  CHECK(std::equal(numbers.begin(), numbers.end(), x.data()));
  CHECK(x.reshape({2, -1}).shape() == Shape{2, 3});
  CHECK_THROWS_WITH(x.reshape({4, -1}), Contains("reshape: (6) does not divide into parts of 4") &&
                                            Contains("indices_test.cpp"));
  CHECK_THROWS_WITH(x.reshape(Shape{4}), Contains("sizes differ: (6) to (4)"));
}
