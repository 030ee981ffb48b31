#include "experiments/fork.h"

#include <catch2/catch.hpp>

#include "tapegrad/core/error.h"
#include "tapegrad/tapegrad.h"
#include "tapegrad/train/optimizer_flags.h"

using namespace tapegrad;
using namespace tapegrad::lab;

namespace {

const ForkSizes sizes{
    .net = {.width = 8, .batch_size = 16}, .points = {0, 3, 5}, .detached = 2, .recovery = 4};

support::ImageSets few_images() {
  support::ImageSets sets = support::draw_image_sets(1);
  sets.train = support::first_images(sets.train, 100);  // seven batches: some copies see two epochs
  sets.validation = support::first_images(sets.validation, 60);
  return sets;
}

FormSetting setting(const std::string& optimizer) { return {optimizer, "uniform", 2}; }

Outcome forked(const std::string& optimizer, const ForkSizes& with = sizes,
               const Forks& forks = {}) {
  return train_forks(setting(optimizer), 0.01, with, few_images(), 1, forks);
}

/// The validation loss of a run that knows nothing of forks.
double plain_loss(const std::string& optimizer, Index steps) {
  const support::ImageSets sets = few_images();
  Random random(1);
  const Layer net = make_form_net("layer_simple", setting(optimizer), sizes.net, random);
  const auto update =
      OptimizerFlags{.optimizer = optimizer, .learning_rate = 0.01}.make_optimizer(parameters(net));
  EpochBatches<ImageSet> batches(sets.train, sizes.net.batch_size, 1);
  for (Index step = 0; step < steps; ++step) {
    const auto& [images, labels] = batches.at(step);
    const Tape tape;
    update->step(grad(cross_entropy(net(images), labels), update->parameters()));
  }
  for (const auto& [images, labels] : Batches(sets.validation, 60))
    return cross_entropy(net(images), labels).item();
  return NAN;
}

/// Runs of an optimizer by their costs: the same for all arms but `arm`, at all times.
Results with_costs(const std::string& optimizer, const std::string& changed,
                   const std::vector<std::vector<double>>& by_seed) {
  Results results{optimizer};
  for (const std::vector<double>& of_points : by_seed) {
    Outcome outcome;
    for (const char* when : {" at the fork", " at once", " later"})
      for (std::size_t i = 0; i < of_points.size(); ++i) {
        const Index point = 10 * static_cast<Index>(i);
        outcome.traces[std::string("unforked") + when].emplace_back(point, 2);
        for (const ForkArm& arm : fork_arms())
          outcome.traces[arm.name + when].emplace_back(
              point, arm.name == changed ? 2 * (1 + of_points[i] / 100) : 2);
      }
    results.runs.push_back(outcome);
  }
  return results;
}

std::optional<Verdict> verdict_on(const std::string& prediction, const Results& results) {
  for (const JudgedClaim& claim : fork_predictions({results}))
    if (claim.statement.find(prediction) != std::string::npos) return claim.judgement.verdict;
  return {};
}

}  // namespace

TEST_CASE("a copy that keeps its norm is the unforked run, bit for bit", "[lab][fork]") {
  for (const char* optimizer : {"adam", "momentum"}) {
    const Outcome outcome = forked(optimizer);
    for (const char* when : {" at the fork", " at once", " later"})
      CHECK(trace_of(outcome, std::string("kept") + when) ==
            trace_of(outcome, std::string("unforked") + when));
    const auto loss_of = [&](const char* trace, std::size_t point) {
      return trace_of(outcome, trace)[point].second;
    };
    CHECK(loss_of("unforked at the fork", 1) == plain_loss(optimizer, 3));
    CHECK(loss_of("kept at once", 1) == plain_loss(optimizer, 5));
    CHECK(loss_of("kept later", 2) == plain_loss(optimizer, 11));
  }
}

TEST_CASE("a copy that lacks its moments or the next batches is another run", "[lab][fork]") {
  const auto cost = [](const std::function<void(ForkState&)>& carried) {
    return costs(forked("adam", sizes, {.carried = carried}), "kept", When::at_once)[1].second;
  };
  CHECK(cost([](ForkState&) {}) == 0);
  CHECK(cost([](ForkState& state) {
          for (Tensor& value : state.moments[1].values) value = zeros(value.shape());
        }) != 0);
  CHECK(cost([](ForkState& state) { state.steps = 0; }) != 0);
}

TEST_CASE("forms without a step are layer normalization", "[lab][fork]") {
  ForkSizes none = sizes;
  none.detached = 0;
  const Outcome outcome = forked("adam", none);
  for (const ForkArm& arm : fork_arms())
    for (const auto& [point, cost] : costs(outcome, arm.name, When::later)) CHECK(cost == 0);
  const auto at_once = [&](const char* arm) {
    return std::abs(costs(outcome, arm, When::at_once)[1].second);
  };
  for (const char* arm : {"mean detached", "deviation detached", "both detached", "forward alone"})
    CHECK(at_once(arm) < 1e-3);
  CHECK(at_once("backward alone") > 0.1);
}

TEST_CASE("copies with other forms leave the run", "[lab][fork]") {
  const Outcome outcome = forked("momentum");
  for (const ForkArm& arm : fork_arms())
    if (arm.name != "kept")
      for (const When when : {When::at_once, When::later})
        CHECK(costs(outcome, arm.name, when)[0].second != 0);
}

TEST_CASE("a cost is percent of the loss of the unforked run", "[lab][fork]") {
  Outcome outcome;
  outcome.traces["unforked later"] = {{0, 2}, {60, 0.5}};
  outcome.traces["kept later"] = {{0, 2}, {60, 0.5}};
  outcome.traces["mean detached later"] = {{0, 3}, {60, 0.4}};
  const lab::RunTrace found = costs(outcome, "mean detached", When::later);
  CHECK(found[0] == std::pair<Index, double>(0, 50));
  CHECK(found[1].first == 60);
  CHECK(found[1].second == Approx(-20));
  const Results at_60 = costs_at({"adam", {outcome, outcome}}, "mean detached", 1, When::later);
  CHECK(at_60.spread(fork_cost).mean == Approx(-20));
  CHECK(at_60.spread(fork_cost).deviation == Approx(0).margin(1e-9));
  CHECK_THROWS_AS(costs(outcome, "mean detached", When::at_once), DataError);
  outcome.traces["mean detached later"].pop_back();
  CHECK_THROWS_AS(costs(outcome, "mean detached", When::later), DataError);
}

TEST_CASE("predictions on forks are judged over paired seeds", "[lab][fork]") {
  const auto adam = [](const std::vector<std::vector<double>>& by_seed) {
    return with_costs("adam", "mean detached", by_seed);
  };
  const std::string early = "costs more at the first fork than at the last",
                    most = "a detached mean costs more than a detached deviation";
  const Results falling = adam({{40, 20, 9}, {41, 21, 10}, {43, 22, 8}});
  CHECK(verdict_on(early, falling) == Verdict::supported);
  CHECK(verdict_on(most, falling) == Verdict::supported);
  const Results rising = adam({{9, 20, 40}, {10, 21, 41}, {-12, 22, 43}});
  CHECK(verdict_on(early, rising) == Verdict::contradicted);
  CHECK(verdict_on(most, rising) == Verdict::inconclusive);  // at the first
  CHECK(verdict_on(early, adam({{1, 0, 0}, {0, 0, 1}, {1, 0, 1}})) == Verdict::inconclusive);
  CHECK(verdict_on(early, adam({{40, 0, 9}, {41, 0, 9}})) == Verdict::inconclusive);

  const auto last = [](double cost) {
    return verdict_on(
        "at the last fork changes the loss by less than 5 %",
        with_costs("momentum", "both detached", {{60, cost}, {61, cost + 0.2}, {59, cost - 0.2}}));
  };
  CHECK(last(-3) == Verdict::supported);
  CHECK(last(4.9) == Verdict::inconclusive);
  CHECK(last(6) == Verdict::contradicted);

  const Results momentum = with_costs("momentum", "mean detached", {{3, 2}, {3.1, 2}, {2.9, 2}});
  CHECK(verdict_on("With momentum, a detached mean changes the loss", momentum) ==
        Verdict::supported);
  CHECK(verdict_on("a detached deviation costs more", momentum) == Verdict::contradicted);
  CHECK_FALSE(verdict_on("With Adam", momentum));
}
