#include "tapegrad/nn/functions/similarity.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "ops/check_same.h"
#include "support/golden.h"
#include "tapegrad/core/error.h"
#include "tapegrad/ops/elementwise.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

TEST_CASE("directions have length 1, and the direction of zeros is zeros", "[norm]") {
  const Tensor x({3, 2}, {3, -4, 0, 0, 1e-11, 0});
  CHECK(relative_error(l2_normalize(x, {.epsilon = 1e-10}),
                       Tensor({3, 2}, {0.6, -0.8, 0, 0, 0.1, 0})) < golden_tolerance);
  const Tensor slope = gradient([](const Tensor& in) { return l2_normalize(in, {.epsilon = 0.5}); },
                                zeros({2}), Tensor({2}, {1, -3}));
  CHECK(relative_error(slope, Tensor({2}, {2, -6})) < golden_tolerance);
  CHECK(to_string(l2_normalize(zeros({2}), {.epsilon = 0})) == "(2) [0, 0]");
  CHECK_THROWS_AS(l2_normalize(x, {.epsilon = -1}), ArgumentError);
  CHECK_THROWS_AS(l2_normalize(x, {.axis = 2}), ShapeError);
}

TEST_CASE("cosines do not depend on lengths", "[ops]") {
  const Tensor a({2}, {1, 2}), b({2}, {2, -1}), c({2}, {3, 4});
  for (const double scale : {1e-25, 1e-12, 1.0, 1e25}) {
    INFO(scale);
    CHECK(cosine_similarity(scale * a, scale * a).item() == Approx(1));
    CHECK(cosine_similarity(scale * a, scale * b).item() == Approx(0).margin(1e-6));
    CHECK(cosine_similarity(scale * a, c).item() == Approx(11 / std::sqrt(125.0)));
  }
}

TEST_CASE("cosines and triplets refuse what does not fit", "[ops]") {
  const Tensor x({2, 3}, {0, 0, 0, 1, 2, 2}), row = ones({3});
  CHECK(to_string(cosine_similarity(x, x)) == "(2) [0, 1]");
  CHECK_THROWS_WITH(cosine_similarity(x, row), Contains("ranks differ: (2, 3) and (3)"));
  CHECK_THROWS_WITH(cosine_similarity(x, ones({3, 3})), Catch::StartsWith("cosine_similarity: "));
  CHECK_THROWS_WITH(cosine_similarity(x, x, {.epsilon = -1}), Contains("must be at least 0: -1"));
  CHECK_THROWS_WITH(cosine_embedding(x, x, row),
                    Contains("vectors (2, 3) need one target a row: (3)"));
  CHECK_THROWS_WITH(cosine_embedding(x, x, ones({2}), {.margin = 2}),
                    Contains("margin must lie in [-1, 1]: 2"));
  CHECK(triplet_margin(x, x, x, {.margin = 3}).item() == Approx(3));
  CHECK_THROWS_WITH(triplet_margin(x, x, row), Contains("shapes differ: (2, 3) and (3)"));
  CHECK_THROWS_WITH(triplet_margin(x, x, x, {.margin = 0}), Contains("must be positive: 0"));
}
