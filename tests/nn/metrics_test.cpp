#include "tapegrad/nn/metrics.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tapegrad/core/error.h"

using namespace tapegrad;
using Catch::Contains;

TEST_CASE("a running mean weighs batches by their size") {
  RunningMean mean;
  CHECK(std::isnan(mean.value()));
  mean.add(1);
  mean.add(4, 2);
  CHECK(mean.value() == 3);
  CHECK(mean.count == 3);
}

TEST_CASE("an example with a NaN among its logits is wrong") {
  const real nan = std::nan("");
  const Tensor logits({3, 2}, {nan, nan, 0, nan, 0, 1});
  CHECK(accuracy(logits, Indices({3}, {0, 1, 1})) == Approx(1.0 / 3));
  CHECK(accuracy(logits, Indices({3}, {1, 0, 0})) == 0);
}

TEST_CASE("accuracy is the share of examples whose label has the largest logit") {
  const Tensor logits({2, 2, 3}, {0, 1, 0, 5, 4, 3, 0, 0, 9, 2, 1, 0});
  CHECK(accuracy(logits, Indices({2, 2}, {1, 0, 2, 1})) == 0.75);
  CHECK(count_equal(Indices({3}, {1, 2, 3}), Indices({3}, {1, 0, 3})) == 2);
  CHECK_THROWS_WITH(count_equal(Indices({2}, {0, 1}), Indices({1}, {0})),
                    Contains("the shapes differ: (2) and (1)"));
  CHECK_THROWS_WITH(accuracy(logits, Indices({4}, {1, 0, 2, 1})),
                    "accuracy: logits (2, 2, 3) do not fit labels (4)");
}

TEST_CASE("the perplexity of equally likely tokens is their number") {
  CHECK(perplexity(std::log(65.0)) == Approx(65));
}

TEST_CASE("a confusion matrix counts by label and guess") {
  Confusion confusion(3);
  CHECK(std::isnan(confusion.accuracy()));
  confusion.add(Indices({5}, {0, 0, 0, 1, 1}), Indices({5}, {0, 0, 1, 1, 0}));
  confusion.add(Indices({1}, {1}), Indices({1}, {1}));
  CHECK(confusion.count() == 6);
  CHECK(confusion.at(0, 1) == 1);
  CHECK(confusion.at(1, 0) == 1);
  CHECK(confusion.accuracy() == Approx(4.0 / 6));
  confusion.add(Indices({1}, {0}), Indices({1}, {1}));
  CHECK(confusion.precision(0) == Approx(2.0 / 3));
  CHECK(confusion.recall(0) == Approx(2.0 / 4));
  CHECK(confusion.f1(0) == Approx(2 * (2.0 / 3) * 0.5 / (2.0 / 3 + 0.5)));
  CHECK(std::isnan(confusion.recall(2)));
  CHECK(to_string(confusion) == "  | 0 1 2\n0 | 2 2 0\n1 | 1 2 0\n2 | 0 0 0\n");
}

TEST_CASE("a confusion matrix refuses classes that it has not, and counts nothing then") {
  Confusion confusion(2);
  CHECK_THROWS_AS(confusion.add(Indices({2}, {0, 1}), Indices({2}, {0, 2})), ShapeError);
  CHECK_THROWS_AS(confusion.add(Indices({2}, {0, 1}), Indices({1}, {0})), ShapeError);
  CHECK(confusion.count() == 0);
  CHECK_THROWS_WITH(confusion.at(0, 2), Contains("class 2 is not in [0, 2)"));
  CHECK_THROWS_WITH(Confusion(0), Contains("confusion: classes must be at least 1: 0"));
}

TEST_CASE("attachment scores count words with the right head and the right arc") {
  AttachmentScore score;
  CHECK(std::isnan(score.uas()));
  score.add({2, 1}, {2, 1});
  score.add({2, 1}, {2, 3});
  score.add({2, 1}, {3, 1});
  score.add({0, 0}, {2, 1});
  CHECK(score.words == 4);
  CHECK(score.uas() == 0.5);
  CHECK(score.las() == 0.25);
}
