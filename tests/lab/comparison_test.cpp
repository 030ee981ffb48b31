#include "lab/comparison.h"

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
  const Ledger ledger;
  const Comparison comparison(ledger, {.seeds = 3, .seed = 5});
  const Results a = comparison.train(system(0));
  comparison.train(system(1));
  CHECK(seen[0] == seen[1]);
  CHECK(a.values(by_loss) == std::vector<double>{5, 6, 7});
  CHECK(a.spread(by_loss).to_string(0) == "6 +- 1");
  for (const auto& [seed, numbers] : seen[0]) CHECK(numbers[0] != numbers[1]);
}

TEST_CASE("a system trains at the rate that is best for it with seed 101") {
  std::vector<std::pair<std::uint64_t, double>> trained;
  const auto at = [&](const std::map<double, double>& endings) {
    trained.clear();
    return System{.name = "a", .configuration = {}, .train = [&, endings](const Trial& trial) {
                    trained.emplace_back(trial.seed, trial.rate);
                    return ending(by_loss, endings.at(trial.rate));
                  }};
  };
  const Ledger ledger;
  const Comparison comparison(ledger, {.seeds = 2});
  using Trained = std::vector<std::pair<std::uint64_t, double>>;
  const Results lower = comparison.train_at_best_rate(at({{1, 0.5}, {3, 0.25}}), {1, 3}, by_loss);
  CHECK(lower.rate == 3);
  CHECK(trained == Trained{{101, 1}, {101, 3}, {1, 3}, {2, 3}});
  CHECK(comparison.train_at_best_rate(at({{1, 0.5}, {3, 0.5}}), {1, 3}, by_loss).rate == 1);
  CHECK(comparison.train_at_best_rate(at({{1, 0.5}, {3, NAN}}), {1, 3}, by_loss).rate == 1);
  CHECK(comparison.train_at_best_rate(at({{1, NAN}, {3, 9}}), {1, 3}, by_loss).rate == 3);
  CHECK(rates_text({lower, {"b", 0.5}}) == "a 3, b 0.5");
}

TEST_CASE("curves are means over seeds") {
  const Results results{
      "a", 0, {{.curve = {{10, 4, 1}, {20, 2}}}, {.curve = {{10, 2, 3}, {20, 1}}}}};
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
  const Results results{"a", 0, {one, two}};
  CHECK(mean_training_curve(results).deviations ==
        std::vector<double>{std::sqrt(2.0), std::sqrt(0.5)});
  CHECK(mean_validation_curve(results).deviations == std::vector<double>{std::sqrt(2.0)});
  CHECK(mean_training_curve({"a", 0, {one}}).deviations.empty());
}

TEST_CASE("the curves of all seeds have the same points") {
  const Outcome shorter{.curve = {{10, 4}}}, longer{.curve = {{10, 4}, {20, 2}}};
  for (const Results& results : {Results{"a", 0, {longer, shorter}}, {"a", 0, {shorter, longer}}})
    CHECK_THROWS_WITH(mean_training_curve(results), Contains("other points"));
}

TEST_CASE("a training has diverged without a finite value, or above its start") {
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
