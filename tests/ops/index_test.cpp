#include "tapegrad/ops/index.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <utility>

#include "tapegrad/core/tape.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;

TEST_CASE("the gradient of a row that is looked up twice is that of both", "[ops]") {
  const Tape tape;
  const Tensor table = watch(zeros({3, 2}));
  const Tensor g = grad(sum(embedding(table, Indices({3}, {2, 0, 2}))), table);
  for (const auto& [at, expected] : {std::pair(0, 1), {1, 1}, {2, 0}, {3, 0}, {4, 2}, {5, 2}})
    CHECK(g.values()[at] == expected);
}

TEST_CASE("what is gathered is scattered back", "[ops]") {
  const Tensor x({2, 3}, {1, 2, 3, 4, 5, 6});
  const Indices positions({2, 2}, {2, 0, 1, 1});
  const Tensor some = gather(x, 1, positions);
  const Tensor back = scatter_add(some, 1, positions, x.shape());
  const real gathered[] = {3, 1, 5, 5}, scattered[] = {1, 0, 3, 0, 10, 0};
  CHECK(std::equal(gathered, gathered + 4, some.data()));
  CHECK(std::equal(scattered, scattered + 6, back.data()));
}
