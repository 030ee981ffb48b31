#include "tapegrad/train/learner.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tapegrad/train.h"

using namespace tapegrad;
using Catch::Contains;

namespace {

// Gradient descent on w^2 / 2 from 8 at the rate 1/2: after n steps, w = 8 / 2^n.
struct Halving {
  Parameter w{Tensor({1}, {8})};
  Fields net;
  OptimizerFlags optimizer{.optimizer = "sgd", .schedule = "constant", .learning_rate = 0.5};

  Halving() { net("w", w); }
  Training updates(Index steps) const { return {optimizer, {.keep_best = true}, net, steps}; }
  Learner learner(const RunSteps& steps) const {
    return {.net = net, .steps = steps, .loss = [this](Index) { return sum(square(w)) * 0.5; }};
  }
};

}  // namespace

TEST_CASE("a study sees gradients, losses and epochs of its training") {
  const Halving halving;
  Training updates = halving.updates(5);
  std::vector<double> gradients, losses, means;
  std::vector<Index> steps, ends;
  const BestValidation best = train(halving.learner({.total = 5, .per_epoch = 2}), updates,
                                    {.gradients =
                                         [&](Index step, const std::vector<Tensor>& all) {
                                           CHECK(step == std::ssize(losses) + 1);
                                           gradients.push_back(all.at(0).item());
                                         },
                                     .step =
                                         [&](Index step, double loss) {
                                           steps.push_back(step);
                                           losses.push_back(loss);
                                         },
                                     .epoch =
                                         [&](Index step, double loss, const Metrics& metrics) {
                                           CHECK(metrics.empty());
                                           ends.push_back(step);
                                           means.push_back(loss);
                                         }});
  CHECK(gradients == std::vector<double>{8, 4, 2, 1, 0.5});
  CHECK(losses == std::vector<double>{32, 8, 2, 0.5, 0.125});
  CHECK(steps == std::vector<Index>{1, 2, 3, 4, 5});
  CHECK(ends == std::vector<Index>{2, 4, 5});
  CHECK(means == std::vector<double>{20, 1.25, 0.125});
  CHECK(halving.w.value().item() == 0.25);
  CHECK_FALSE(best.value);
}

TEST_CASE("a mean loss is over the rows of its batches") {
  const Halving halving;
  Learner learner = halving.learner({.total = 2, .per_epoch = 2});
  std::vector<Shard> shards;
  learner.loss = {[](Index step) { return step == 0 ? Index{3} : Index{1}; },
                  [&](Index, const Shard& shard, Random&) {
                    shards.push_back(shard);
                    return sum(square(halving.w)) * 0.5;
                  }};
  Training updates = halving.updates(2);
  double mean = 0;
  train(learner, updates, {.epoch = [&](Index, double loss, const Metrics&) { mean = loss; }});
  CHECK(mean == 26);  // (3 * 32 + 1 * 8) / 4
  REQUIRE(shards.size() == 2);
  CHECK(shards[0].end == 3);
  CHECK(shards[1].end == 1);
}

TEST_CASE("a loss of several numbers or none is refused by its shape") {
  const Halving halving;
  Training updates = halving.updates(2);
  Learner learner = halving.learner({.total = 2, .per_epoch = 2});
  learner.loss = [&](Index) { return stack({halving.w, halving.w}); };
  CHECK_THROWS_WITH(train(learner, updates),
                    "trainer: the loss must be one number, such as a mean: (2, 1)");
  learner.loss = [](Index) { return Tensor(); };
  CHECK_THROWS_WITH(train(learner, updates), Contains("such as a mean: undefined"));
}

TEST_CASE("a study keeps the values of its best validation") {
  Halving halving;
  Learner learner = halving.learner({.total = 4, .per_epoch = 1});
  learner.validate = [&] { return Metrics{{"distance", std::abs(halving.w.value().item() - 2)}}; };
  Training updates = halving.updates(4);
  CHECK_THROWS_WITH(train(learner, updates),
                    Contains("the validation returns no validation_loss; set Learner::metric"));
  halving.w.set(Tensor({1}, {8}));
  learner.metric = {.name = "distance"};
  Training again = halving.updates(4);
  const BestValidation best = train(learner, again);
  CHECK(best.value == 0.0);
  CHECK(best.step == 2);
  CHECK(halving.w.value().item() == 0.5);
  CHECK(again.at_best([&] { return Metrics{{"w", halving.w.value().item()}}; }).number("w") == 2.0);
}

TEST_CASE("a study brings parameters back after each update and goes on after a loss of nan") {
  const Halving halving;
  Learner learner = halving.learner({.total = 3, .per_epoch = 3});
  Parameter w = halving.w;
  learner.project = [&]() { w.set(maximum(w.value(), 3.0)); };
  Training updates = halving.updates(3);
  std::vector<double> losses;
  const TrainingObserver observer{.step = [&](Index, double loss) { losses.push_back(loss); }};
  train(learner, updates, observer);
  CHECK(losses == std::vector<double>{32, 8, 4.5});
  w.set(Tensor({1}, {NAN}));
  learner.project = {};
  Training diverged = halving.updates(3);
  losses.clear();
  train(learner, diverged, observer);
  CHECK(losses.size() == 3);
  CHECK(std::isnan(losses.back()));
}
