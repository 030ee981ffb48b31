#include "tapegrad/io/examples.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "support/values.h"
#include "tapegrad/core/error.h"
#include "tapegrad/io/batches.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

TEST_CASE("batches of several columns keep rows together", "[data]") {
  const Tensor x = numbered({7, 2});
  const Indices y({7}, {0, 1, 2, 3, 4, 5, 6});
  const Examples set(x, y, numbered({7, 1, 3}));
  CHECK(set.count() == 7);
  Random random(1);
  std::set<Index> seen;
  for (const auto& [points, labels, more] : Batches(set, 3, random))
    for (Index i = 0; i < labels.size(); ++i) {
      const Index row = labels.data()[i];
      CHECK(points.data()[2 * i] == static_cast<real>(2 * row));
      CHECK(more.data()[3 * i + 2] == static_cast<real>(3 * row + 2));
      seen.insert(row);
    }
  CHECK(seen.size() == 7);
}

TEST_CASE("rows are those that are chosen", "[data]") {
  const Tensor x = numbered({3, 2});
  CHECK(values_of(take_rows(x, std::vector<Index>{2, 0})) == std::vector<real>{4, 5, 0, 1});
  CHECK(take_rows(x, {}).shape() == Shape{0, 2});
}

TEST_CASE("columns of different lengths are refused", "[data]") {
  CHECK_THROWS_WITH(Examples(zeros({3, 2}), Indices({2}, {0, 1})),
                    Contains("examples: the columns differ in the number of rows: 3 and 2"));
  CHECK_THROWS_WITH(Examples(Tensor(1)), Contains("examples: a scalar has no rows"));
  CHECK_THROWS_WITH(take_rows(zeros({3}), std::vector<Index>{3}),
                    Contains("take_rows: row 3 is not in [0, 3)"));
}

TEST_CASE("a random split has each example once, with its label", "[data]") {
  const Examples set(numbered({10, 2}), Indices({10}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  Random random(1), same(1);
  const auto [train, test] = random_split(set, 0.75, random);
  CHECK(train.count() == 8);
  CHECK(test.count() == 2);
  std::set<Index> seen;
  for (const auto& part : {train, test}) {
    const auto& [x, y] = part.columns();
    for (Index i = 0; i < y.size(); ++i) {
      CHECK(x.data()[2 * i] == static_cast<real>(2 * y.data()[i]));
      seen.insert(y.data()[i]);
    }
  }
  CHECK(seen.size() == 10);
  const auto& labels = std::get<1>(train.columns());
  CHECK_FALSE(std::is_sorted(labels.values().begin(), labels.values().end()));
  const auto again = random_split(set, 0.75, same).first;
  CHECK(std::get<1>(again.columns()).values()[0] == labels.values()[0]);
}

TEST_CASE("a random split may leave a part empty, and refuses other shares", "[data]") {
  Random random(1);
  const Examples set(numbered({3, 2}));
  CHECK(random_split(set, 0, random).first.count() == 0);
  CHECK(random_split(set, 1, random).second.count() == 0);
  CHECK(random_split(Examples(zeros({0, 2})), 0.5, random).first.count() == 0);
  for (const double share : {-0.1, 1.1, std::nan("")})
    CHECK_THROWS_WITH(random_split(set, share, random),
                      Contains("random_split: the share is not in [0, 1]"));
}

TEST_CASE("a part has the rows between two positions", "[data]") {
  const Indices ids({5}, {0, 1, 2, 3, 4});
  CHECK(part(ids, 1, 5).values()[3] == 4);
  CHECK(part(ids, 5, 5).size() == 0);
  const Tensor x({3, 2}, {0, 1, 2, 3, 4, 5});
  CHECK(values_of(part(x, 1, 3)) == std::vector<real>{2, 3, 4, 5});
  CHECK(part(x, 1, 1).shape() == Shape{0, 2});
  CHECK(values_of(part(x, 0, 3)) == values_of(x));
  CHECK(part(zeros({0, 2}), 0, 0).shape() == Shape{0, 2});

  const Tape tape;
  const Tensor watched = watch(x);
  CHECK_THROWS(grad(sum(part(watched, 0, 3)), watched));  // on no tape
  CHECK_THROWS_WITH(part(ids, 1, 6), "part: [1, 6) is not within 5 rows");
  CHECK_THROWS_AS(part(ids, -1, 2), ShapeError);
  CHECK_THROWS_AS(part(ids, 3, 2), ShapeError);
  CHECK_THROWS_WITH(part(full({}, 1), 0, 1), "part: a scalar has no rows: ()");
}
