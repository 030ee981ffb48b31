#include "experiments/detaching.h"

#include <catch2/catch.hpp>

#include "results.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

/// What each norm adds to the loss of its seed, as in the paper; deep: of twelve layers.
std::map<std::string, double> as_published(bool deep) {
  return {{"none", -0.05},        {"layer", 0},
          {"layer_simple", 0.01}, {"detach", deep ? 0.8 : 0.4},
          {"detach_mean", 0.015}, {"detach_variance", 0.3},
          {"ada", 0.005}};
}

Column column(Index layers, const std::map<std::string, double>& added) {
  Column column{"paper", "pre", layers, 32, 0.002, 100};
  for (const auto& [norm, loss] : added)
    column.results[norm] = results(norm, validation_after(100), {1 + loss, 1.1 + loss, 0.9 + loss});
  return column;
}

std::vector<JudgedClaim> claims(const std::map<std::string, double>& shallow) {
  return published_claims({column(2, shallow), column(12, as_published(true))});
}

/// A run that begins and ends with these losses of a batch.
Results from_to(const std::string& norm, const std::vector<std::pair<double, double>>& seeds) {
  Results results{norm};
  for (const auto& [first, last] : seeds) results.runs.push_back({{{1, first}, {2, last}}});
  return results;
}

ByNorm detached() {
  return {{"layer_simple", from_to("layer_simple", {{4, 2}, {5, 3}})},
          {"detach", from_to("detach", {{4, 2.5}, {5, 3.5}})},
          {"detach_mean", from_to("detach_mean", {{4, 2}, {5, 3.1}})},
          {"detach_variance", from_to("detach_variance", {{4, 2.4}, {5, 3.4}})}};
}

}  // namespace

TEST_CASE("each published claim about detached statistics is contradicted by what it denies") {
  for (const JudgedClaim& claim : claims(as_published(false))) {
    INFO(claim.statement);
    CHECK(claim.judgement.verdict == Verdict::supported);
  }
  const std::vector<std::pair<std::string, double>> planted{
      {"detach", -0.1},     {"detach_variance", -0.1},
      {"detach_mean", 0.5}, {"detach_mean", 0.5},
      {"layer", 0.5},       {"ada", 0.5},
      {"none", 0.5},        {"detach", 1.5}};
  REQUIRE(claims(as_published(false)).size() == planted.size());
  for (std::size_t i = 0; i < planted.size(); ++i) {
    std::map<std::string, double> shallow = as_published(false);
    shallow[planted[i].first] = planted[i].second;
    const JudgedClaim claim = claims(shallow)[i];
    INFO(claim.statement);
    CHECK(claim.judgement.verdict == Verdict::contradicted);
  }
}

TEST_CASE("a published claim names the settings that contradict it") {
  std::map<std::string, double> shallow = as_published(false);
  shallow["detach"] = -0.1;
  const JudgedClaim claim = claims(shallow)[0];
  CHECK(claim.measured == "of 2 settings it is supported in 1 and contradicted in 1");
  CHECK_THAT(claim.judgement.reason, Contains("pre, 2 layers -0.11 +- "));
  CHECK_THAT(claim.judgement.reason, Contains("pre, 12 layers +0.79 +- "));
}

TEST_CASE("growth with depth compares settings that differ in depth alone") {
  Column other = column(12, as_published(true));
  other.placement = "post";
  CHECK(published_claims({column(2, as_published(false)), other}).size() == 7);
}

TEST_CASE("detached systems must begin as layer_simple and end elsewhere") {
  const auto holds = [](const ByNorm& results) {
    const std::vector<Claim> claims = detaching_claims({detached(), results});
    return std::pair(claims[0].holds, claims[1].holds);
  };
  CHECK(holds(detached()) == std::pair(true, true));
  ByNorm other_values = detached(), no_effect = detached();
  other_values["detach"] = from_to("detach", {{4, 2.5}, {5.1, 3.5}});
  CHECK(holds(other_values) == std::pair(false, true));
  no_effect["detach_mean"] = from_to("detach_mean", {{4, 2}, {5, 3}});
  CHECK(holds(no_effect) == std::pair(true, false));
}

TEST_CASE("a setting is named by what differs") {
  Column a = column(2, as_published(false)), b = a;
  CHECK(a.name({a, b}) == "pre, 2 layers");
  b.rate = 0.01;
  b.steps = 300;
  CHECK(b.name({a, b}) == "pre, 2 layers, rate 0.01, 300 steps");
  b.init = "library";
  b.channels = 64;
  CHECK(b.name({a, b}) == "pre, 2 layers, 64 channels, rate 0.01, 300 steps, library init");
}

TEST_CASE("the best norm has the lowest mean loss; one that diverges has none") {
  std::map<std::string, double> added = as_published(false);
  CHECK(best_norm(column(2, added)) == "none");
  added["none"] = NAN;
  CHECK(best_norm(column(2, added)) == "layer");
}
