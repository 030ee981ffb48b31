#include "experiments/drift_claims.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "results.h"
#include "tapegrad/core/error.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

/// A run whose gradients have common modes of these sizes, from the first step on.
Results with_common_mode(const std::string& norm, const std::vector<double>& sizes) {
  Outcome run;
  for (std::size_t i = 0; i < sizes.size(); ++i) run.traces["common"].emplace_back(i + 1, sizes[i]);
  return {norm, {run}};
}

bool common_mode_claimed(const std::vector<double>& attached, const std::vector<double>& detached) {
  const ByNorm sound{{"layer_simple", with_common_mode("layer_simple", {1e-6, 2e-6})},
                     {"detach_mean", with_common_mode("detach_mean", {0.3, 0.001})}};
  const ByNorm other{{"layer_simple", with_common_mode("layer_simple", attached)},
                     {"detach_mean", with_common_mode("detach_mean", detached)}};
  return common_mode_claim({sound, other}).holds;
}

}  // namespace

TEST_CASE("a common mode in attached gradients, or none in detached ones, is refused") {
  CHECK(common_mode_claimed({1e-6, 1e-6}, {0.2, 0.0}));
  CHECK_FALSE(common_mode_claimed({1e-6, 0.01}, {0.2, 0.2}));
  CHECK_FALSE(common_mode_claimed({NAN, 1e-6}, {0.2, 0.2}));
  CHECK_FALSE(common_mode_claimed({1e-6, 1e-6}, {0.001, 0.2}));
  CHECK_FALSE(common_mode_claimed({1e-6, 1e-6}, {NAN, 0.2}));
}

TEST_CASE("the published order of detached statistics is contradicted by the other one") {
  const Results low = results("low", held_out, {1, 1.1, 0.9}),
                high = results("high", held_out, {2, 2.1, 1.9});
  const JudgedClaim published = cheaper_mean_claim("grammar", low, high);
  CHECK(published.judgement.verdict == Verdict::supported);
  CHECK_THAT(published.statement, Contains("grammar: detaching the mean costs less"));
  CHECK(published.measured == "losses of 1.000 +- 0.100 and 2.000 +- 0.100");
  CHECK(cheaper_mean_claim("grammar", high, low).judgement.verdict == Verdict::contradicted);
}

TEST_CASE("the largest value of a trace is its NaN if it has one") {
  CHECK(largest({{1, 0.5}, {2, 3}, {3, 1}}) == 3);
  CHECK(std::isnan(largest({{1, 0.5}, {2, NAN}, {3, 1}})));
}

TEST_CASE("the first tenth of a trace has its first value at least") {
  CHECK(largest_of_first_tenth({{1, 2}, {10, 1}, {20, 3}, {100, 9}}) == 2);
  CHECK(largest_of_first_tenth({{1, 2}, {10, 4}, {20, 3}, {100, 9}}) == 4);
  CHECK(largest_of_first_tenth({{5, 2}, {20, 3}}) == 2);
}

TEST_CASE("rank correlations use average ranks, as Python's statistics.correlation") {
  CHECK(rank_correlation({1, 2, 3}, {10, 20, 300}) == Approx(1));
  CHECK(rank_correlation({1, 2, 3}, {3, 2, 1}) == Approx(-1));
  CHECK(rank_correlation({1, 2, 2, 3}, {1, 3, 2, 4}) == Approx(0.9486832980505138));
  CHECK(rank_correlation({3, 1, 4, 1, 5}, {2, 7, 1, 8, 2}) == Approx(-0.7894736842105263));
  CHECK(rank_correlation({1, 1}, {1, 2}) == 0);
  CHECK_THROWS_AS(rank_correlation({1, 2}, {1}), ArgumentError);
  CHECK_THROWS_AS(rank_correlation({1}, {1}), ArgumentError);
}

TEST_CASE("a prediction of costs is supported by all tasks and contradicted by none of them") {
  const auto verdicts = [](bool in_a, bool in_b) {
    const auto settings = [](bool by_weights) {
      std::vector<DriftCost> all;
      for (const double x : {1.0, 2.0, 3.0, 4.0})
        all.push_back({.cost = x,
                       .ratio = by_weights ? -x : x,
                       .weights = by_weights ? x : -x,
                       .first_ratio = 0,
                       .first_weights = by_weights ? x : -x});
      return all;
    };
    std::vector<Verdict> found;
    for (const JudgedClaim& claim :
         predictor_claims({{"a", settings(in_a)}, {"b", settings(in_b)}}))
      found.push_back(claim.judgement.verdict);
    return found;
  };
  CHECK(verdicts(true, true) == std::vector(2, Verdict::supported));
  CHECK(verdicts(true, false) == std::vector(2, Verdict::inconclusive));
  CHECK(verdicts(false, false) == std::vector(2, Verdict::contradicted));
}
