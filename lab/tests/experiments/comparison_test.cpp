#include "experiments/comparison.h"

#include <catch2/catch.hpp>

#include "results.h"
#include "tapegrad/core/error.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::testing;
using Catch::Contains;

TEST_CASE("every system trains with the same seeds, from the same numbers") {
  std::vector<std::pair<std::uint64_t, std::vector<double>>> seen[2];
  const auto system = [&](int which) {
    return System{.name = which == 0 ? "a" : "b",
                  .configuration = {},
                  .train = [&, which](const Trial& trial) {
                    Random weights = trial.weights(), batches = trial.batches();
                    seen[which].push_back({trial.seed, {weights.uniform(), batches.uniform()}});
                    return ending(by_loss, static_cast<double>(trial.seed));
                  }};
  };
  Cluster cluster;
  const Ledger ledger;
  const Comparison comparison(cluster, ledger, {.seeds = 3, .seed = 5});
  const std::vector<Results> results = comparison.train({system(0), system(1)});
  CHECK(seen[0] == seen[1]);
  REQUIRE(results.size() == 2);
  CHECK(results[1].system == "b");
  const Results& a = results[0];
  CHECK(a.system == "a");
  CHECK(a.values(by_loss) == std::vector<double>{5, 6, 7});
  CHECK(a.spread(by_loss).to_string(0) == "6 +- 1");
  for (const auto& [seed, numbers] : seen[0]) CHECK(numbers[0] != numbers[1]);
}

TEST_CASE("systems are trained and reported one after the other") {
  std::vector<std::string> seen;
  const auto system = [&](const std::string& name) {
    return System{.name = name, .configuration = {}, .train = [&, name](const Trial& trial) {
                    seen.push_back(fmt::format("{} {} {}", name, trial.seed, trial.number));
                    return ending(by_loss, 1);
                  }};
  };
  Cluster cluster;
  const Ledger ledger;
  const Comparison comparison(cluster, ledger, {.seeds = 2});
  comparison.train({system("a"), system("b")}, [&](const Results& trained) {
    seen.push_back(fmt::format("{} of {}", trained.runs.size(), trained.system));
  });
  CHECK(seen == std::vector<std::string>{"a 1 0", "a 2 1", "2 of a", "b 1 2", "b 2 3", "2 of b"});
  seen.clear();
  CHECK_THROWS_WITH(comparison.train({system("a"), system("a")}),
                    "comparison: two systems have the same name: a");
  CHECK(seen.empty());
}

TEST_CASE("curves are means over seeds") {
  const Results results{"a", {{.curve = {{10, 4, 1}, {20, 2}}}, {.curve = {{10, 2, 3}, {20, 1}}}}};
  CHECK(mean_training_curve(results).points ==
        std::vector<std::pair<double, double>>{{10, 3}, {20, 1.5}});
  CHECK(mean_validation_curve(results).points == std::vector<std::pair<double, double>>{{10, 2}});
  CHECK(mean_training_curve(results).name == "a");
  Series steps{"a", {}};
  for (int step = 1; step <= 101; ++step) steps.points.emplace_back(step, step);
  CHECK(thinned(steps).points.size() == 50);
  CHECK(thinned(steps).points.back() == std::pair{100., 99.5});
  CHECK(thinned(steps).deviations.empty());
  for (int step = 1; step <= 101; ++step) steps.deviations.push_back(2 * step);
  CHECK(thinned(steps).deviations.size() == 50);
  CHECK(thinned(steps).deviations.back() == 199);
}

TEST_CASE("curves have the sample standard deviations over seeds") {
  const Outcome one{.curve = {{10, 4, 1}, {20, 2}}}, two{.curve = {{10, 2, 3}, {20, 1}}};
  const Results results{"a", {one, two}};
  CHECK(mean_training_curve(results).deviations ==
        std::vector<double>{std::sqrt(2.0), std::sqrt(0.5)});
  CHECK(mean_validation_curve(results).deviations == std::vector<double>{std::sqrt(2.0)});
  CHECK(mean_training_curve({"a", {one}}).deviations.empty());
}

TEST_CASE("the curves of all seeds have the same points") {
  const Outcome shorter{.curve = {{10, 4}}}, longer{.curve = {{10, 4}, {20, 2}}};
  for (const Results& results : {Results{"a", {longer, shorter}}, {"a", {shorter, longer}}})
    CHECK_THROWS_WITH(mean_training_curve(results), Contains("other points"));
}

TEST_CASE("a run has diverged without a finite value, or above its start") {
  const auto ends = [](double training, double value) {
    return Outcome{.curve = {{0, 2}, {5, 9}, {10, training}}, .values = {{"loss", value}}}
        .diverged();
  };
  CHECK_FALSE(ends(1, 1));
  CHECK_FALSE(ends(2, 1));
  CHECK(ends(2.1, 1));
  CHECK(ends(NAN, 1));
  CHECK(ends(1, NAN));
  CHECK(ends(1, INFINITY));
  CHECK_FALSE(Outcome{.values = {{"loss", 1}}}.diverged());

  Outcome falling{.values = {{"loss", 1}}};
  for (Index step = 0; step < 20; ++step) falling.curve.push_back({step, step < 10 ? 4. : 2.});
  falling.curve.back().training = 5;  // one batch
  CHECK_FALSE(falling.diverged());
  falling.curve[18].training = 4;
  CHECK(falling.diverged());
}
