#include "tapegrad/ops/index.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <utility>

#include "support/restore_threads.h"
#include "support/sections.h"
#include "support/values.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;

TEST_CASE("a row that is looked up twice has the gradient of both", "[ops]") {
  const Tape tape;
  const Tensor table = watch(zeros({3, 2}));
  const Tensor g = grad(sum(embedding(table, Indices({3}, {2, 0, 2}))), table);
  for (const auto& [at, expected] : {std::pair(0, 1), {1, 1}, {2, 0}, {3, 0}, {4, 2}, {5, 2}})
    CHECK(g.values()[at] == expected);
}

TEST_CASE("rows are looked up in several tasks", "[ops][threads]") {
  const Tensor table = Random(1).normal({10, 4000});
  Indices ids = Indices::uninitialized({30});
  for (Index i = 0; i < ids.size(); ++i) ids.mutable_data()[i] = 7 * i % 10;
  Tensor rows;
  CHECK(sections_of([&] { rows = embedding(table, ids); }) == std::vector<Index>{8});  // of 4 rows
  for (Index i = 0; i < ids.size(); ++i)
    CHECK(std::equal(rows.data() + i * 4000, rows.data() + (i + 1) * 4000,
                     table.data() + ids.data()[i] * 4000));
  CHECK(embedding(zeros({3, 0}), Indices({2}, {0, 2})).shape() == Shape{2, 0});
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

TEST_CASE("the gradient of what is taken is the same for any number of threads", "[ops][threads]") {
  Random random(1);
  const RestoreThreads after;
  const Tensor g = random.normal({64, 50, 100});
  // From a part of x for each slice; from parts that overlap; from anywhere.
  for (const auto& [step, width] : {std::pair<Index, Index>{100, 100}, {99, 100}, {0, 6400}}) {
    Indices positions = Indices::uninitialized(g.shape());
    for (Index i = 0; i < g.size(); ++i)
      positions.mutable_data()[i] = i / 5000 * step + random.below(width);
    const auto gradient = [&] {
      const Tape tape;
      const Tensor x = watch(zeros({6400}));
      return grad(take(x, positions), x, {.seed = g});
    };
    set_threads(1);
    const Tensor one = gradient();
    for (const int count : {2, 3, 16}) {
      set_threads(count);
      CHECK(same_bits(gradient(), one));
    }
  }
}

TEST_CASE("slices are selected by position, again and again", "[ops]") {
  const Tensor x({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(to_string(index_select(x, 1, Indices({2}, {2, 0}))) == "(2, 2) [[3, 1], [6, 4]]");
  CHECK(to_string(index_select(x, -2, Indices({3}, {1, 1, 0}))) ==
        "(3, 3) [[4, 5, 6], [4, 5, 6], [1, 2, 3]]");
  CHECK(index_select(x, 1, Indices({0}, {})).shape() == Shape{2, 0});
  CHECK_THROWS_AS(index_select(x, 1, Indices({1}, {3})), ShapeError);
  CHECK_THROWS_AS(index_select(x, 2, Indices({1}, {0})), ShapeError);
  CHECK_THROWS_WITH(index_select(x, 0, Indices({1, 1}, {0})),
                    Catch::StartsWith("index_select: positions must have one axis: (1, 1)"));
}

TEST_CASE("diagonals are taken and made", "[ops]") {
  const Tensor x({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(to_string(diagonal(x)) == "(2) [1, 5]");
  CHECK(to_string(diagonal(x, 1)) == "(2) [2, 6]");
  CHECK(to_string(diagonal(x, 2)) == "(1) [3]");
  CHECK(to_string(diagonal(x, -1)) == "(1) [4]");
  for (const Index offset : {3, -2, 100, -100}) CHECK(diagonal(x, offset).shape() == Shape{0});
  CHECK(to_string(diag(Tensor({2}, {7, 8}))) == "(2, 2) [[7, 0], [0, 8]]");
  CHECK(to_string(diag(Tensor({1}, {7}), -1)) == "(2, 2) [[0, 0], [7, 0]]");
  CHECK(diag(zeros({2, 0})).shape() == Shape{2, 0, 0});
  for (const Index offset : {-2, 0, 3})
    CHECK(to_string(diagonal(diag(x, offset), offset)) == to_string(x));
  CHECK_THROWS_AS(diagonal(ones({3})), ShapeError);
  CHECK_THROWS_AS(diag(Tensor(1)), ShapeError);
}
