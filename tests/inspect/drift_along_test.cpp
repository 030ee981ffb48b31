#include "tapegrad/inspect/drift_along.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using Catch::Contains;

namespace {

struct Weight {
  Parameter w;
  void visit(Fields& field) const { field("w", w); }
};

// A linear layer before layer normalization, in which w has a free shift and a free scale.
struct Task {
  Weight net{Parameter(Random(1).normal({16, 32}, 0, 0.25) + 0.1)};
  Tensor x = Random(2).normal({64, 16}) + 0.5, target = Random(3).normal({64, 32}) + 0.5;
  NormOptions options = {.epsilon = 0};

  Tensor loss() const { return mean(square(layer_norm(matmul(x, net.w), options) - target)); }
  FreeDirection direction(FreeKind kind) const {
    for (const FreeDirection& one : free_directions(fields(net), [&] { return loss(); }))
      if (one.kind == kind) return one;
    FAIL("no such direction");
    return {};
  }
  Drift drift(FreeKind kind, Optimizer& optimizer) const {
    return drift_along(fields(net), direction(kind), optimizer, [&] { return loss(); });
  }
  void train(Optimizer& optimizer, int steps) const {
    for (int step = 0; step < steps; ++step) {
      const Tape tape;
      optimizer.step(grad(loss(), optimizer.parameters()));
    }
  }
  Tensor common_mode() const { return mean(net.w, 1); }
  double length() const { return norm(net.w).item(); }
};

double rms(const Tensor& x) { return std::sqrt(mean(square(x)).item()); }

}  // namespace

TEST_CASE("drift along a shift: SGD and momentum stay, Adam and signs walk", "[free_directions]") {
  constexpr int steps = 100;
  const double rate = 0.01;
  const std::vector<std::function<std::unique_ptr<Optimizer>(const Task&)>> still{
      [&](const Task& task) {
        return std::make_unique<Sgd>(parameters(task.net), SgdOptions{.learning_rate = 1});
      },
      [&](const Task& task) {
        return std::make_unique<Sgd>(parameters(task.net),
                                     SgdOptions{.learning_rate = 0.1, .momentum = 0.9});
      }};
  const std::vector<std::function<std::unique_ptr<Optimizer>(const Task&)>> walking{
      [&](const Task& task) {
        return std::make_unique<Adam>(parameters(task.net), AdamOptions{.learning_rate = rate});
      },
      [&](const Task& task) {
        return std::make_unique<Lion>(parameters(task.net), LionOptions{.learning_rate = rate});
      },
      [&](const Task& task) {
        return std::make_unique<RmsProp>(parameters(task.net),
                                         RmsPropOptions{.learning_rate = rate});
      }};
  for (const auto& make : still) {
    const Task task;
    const auto optimizer = make(task);
    const Drift drift = task.drift(FreeKind::shift, *optimizer);
    const Tensor before = task.common_mode(), weights = task.net.w;
    task.train(*optimizer, steps);
    const double moved = rms(task.common_mode() - before);
    CAPTURE(drift.share, drift.walk, moved);
    CHECK(drift.share < 1e-4);
    CHECK(moved < 1e-3 * rms(task.net.w - weights));
    CHECK_THAT(drift.prediction, Contains("what lies there stays"));
  }
  const Task signs;
  Lion lion(parameters(signs.net), {.learning_rate = rate});
  const Drift of_signs = signs.drift(FreeKind::shift, lion);
  CHECK(of_signs.share == Approx(of_signs.walk / rate));
  for (const auto& make : walking) {
    const Task task;
    const auto optimizer = make(task);
    const Drift drift = task.drift(FreeKind::shift, *optimizer);
    const Tensor before = task.common_mode(), weights = task.net.w;
    task.train(*optimizer, 8);
    const double after_eight = rms(task.common_mode() - before);
    task.train(*optimizer, steps - 8);
    const double moved = rms(task.common_mode() - before);
    CAPTURE(drift.share, drift.walk, after_eight, moved);
    CHECK(drift.share > 0.05);
    CHECK(after_eight < 8 * drift.walk);
    CHECK(after_eight > 2 * drift.walk);
    CHECK(moved > 0.03 * rms(task.net.w - weights));
    CHECK_THAT(drift.prediction,
               Contains("the numbers walk by about") && Contains("nothing brings them back"));
  }
}

TEST_CASE("drift along a shift whose mean is detached: SGD walks straight on",
          "[free_directions]") {
  Task task;
  task.options.detach_mean = true;
  Sgd sgd(parameters(task.net), {.learning_rate = 1});
  const Drift drift = task.drift(FreeKind::shift, sgd);
  const Tensor before = task.common_mode();
  task.train(sgd, 50);
  CAPTURE(drift.walk);
  CHECK(rms(task.common_mode() - before) == Approx(50 * drift.walk).epsilon(0.3));
}

// |w|^2 grows by the square of each step.
TEST_CASE("drift along a scale: the length grows as predicted", "[free_directions]") {
  const Task task;
  Sgd sgd(parameters(task.net), {.learning_rate = 1});
  const Drift drift = task.drift(FreeKind::scale, sgd);
  const double length = task.length();
  double squares = length * length;
  for (int step = 0; step < 8; ++step) {
    const Tensor before = task.net.w;
    task.train(sgd, 1);
    squares += std::pow(norm(task.net.w - before).item(), 2);
  }
  CAPTURE(drift.share, drift.growth);
  CHECK(drift.share < 1e-3);
  CHECK(task.length() > 1.001 * length);
  CHECK(std::log(task.length() / length) == Approx(8 * drift.growth).epsilon(0.03));
  CHECK(task.length() == Approx(std::sqrt(squares)).epsilon(1e-4));
  CHECK_THAT(drift.prediction, Contains("the parameters only grow"));
}

TEST_CASE("drift: decay takes away what lies along a direction", "[free_directions]") {
  constexpr int steps = 50;
  const auto check = [&](Optimizer& optimizer, const Task& task, double decay) {
    for (const FreeKind kind : {FreeKind::shift, FreeKind::scale}) {
      const Drift drift = task.drift(kind, optimizer);
      CHECK(drift.decay == Approx(decay).epsilon(0.02));
      CHECK_THAT(drift.prediction, Contains("; decay takes away 0.02 of it per step"));
    }
  };
  const Task task;
  Sgd sgd(parameters(task.net), {.learning_rate = 0.2, .weight_decay = 0.1});
  check(sgd, task, 0.02);
  CHECK(task.drift(FreeKind::shift, sgd).share < 1e-4);
  const Tensor before = task.common_mode();
  task.train(sgd, steps);
  CHECK(rms(task.common_mode()) == Approx(rms(before) * std::pow(0.98, steps)).epsilon(0.01));

  const Task other;
  AdamW adamw(parameters(other.net), {.learning_rate = 0.1, .weight_decay = 0.2});
  check(adamw, other, 0.02);
  const Task centered;
  Sgd centering(parameters(centered.net), {.center_weights = Centering::outputs});
  CHECK(centered.drift(FreeKind::shift, centering).decay == Approx(1));
  Sgd plain(parameters(centered.net));
  CHECK(centered.drift(FreeKind::shift, plain).decay == 0);
  CHECK(centered.drift(FreeKind::scale, plain).decay == 0);
}

TEST_CASE("drift between ReLU layers: SGD keeps the balance", "[free_directions]") {
  Random random(4);
  const Tensor x = random.normal({16, 6});
  const Mlp net({6, 8, 4}, random);
  const auto loss = [&] { return mean(square(net(x) - 1)); };
  const auto found = free_directions(fields(net), loss);
  REQUIRE(found.size() == 1);
  Sgd sgd(parameters(net), {.learning_rate = 0.01});
  Adam adam(parameters(net));
  CHECK(drift_along(fields(net), found[0], sgd, loss).share < 1e-2);
  CHECK(drift_along(fields(net), found[0], adam, loss).share > 5e-2);
  CHECK(drift_along(fields(net), found[0], adam, loss).decay == 0);
}

// Eight steps are computed by hand, without the decay that AdamW subtracts from each weight.
TEST_CASE("drift along an exchange is without the decay of AdamW", "[free_directions]") {
  constexpr double rate = 1e-3, weight_decay = 0.2, steps = 8;
  Random random(4);
  const Tensor x = random.normal({16, 6});
  const Mlp net({6, 8, 4}, random);
  const auto loss = [&] { return mean(square(net(x) - 1)); };
  const auto found = free_directions(fields(net), loss);
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].kind == FreeKind::exchange);
  for (const bool matrices_only : {false, true}) {
    const AdamWOptions options{
        .learning_rate = rate, .weight_decay = weight_decay, .matrices_only = matrices_only};
    AdamW adamw(parameters(net), options);
    const Drift drift = drift_along(fields(net), found[0], adamw, loss);
    const std::vector<Parameter> all = parameters(net);
    std::vector<Tensor> kept;
    for (const Parameter& each : all) kept.push_back(each.value());
    double share = 0, walk = 0;
    for (int step = 0; step < steps; ++step) {
      std::vector<Tensor> before, added;
      for (const Parameter& each : all) before.push_back(each.value());
      {
        const Tape tape;
        adamw.step(grad(loss(), all));
      }
      double squares = 0, count = 0;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const bool decays = !matrices_only || all[i].shape().rank() == 2;
        added.push_back(all[i].value() - before[i] +
                        (decays ? rate * weight_decay : 0) * before[i]);
        squares += sum(square(added[i])).item();
        count += static_cast<double>(added[i].size());
      }
      // unit k: column k of the first weight, its bias, and row k of the second weight inversely
      const Tensor inner =
          sum(before[0] * added[0], 0) + before[1] * added[1] - sum(before[2] * added[2], 1);
      const Tensor lengths =
          sum(square(before[0]), 0) + square(before[1]) + sum(square(before[2]), 1);
      share += sum(square(inner) / lengths).item() / (squares / count) / (8 * (6 + 1 + 4)) / steps;
      walk += mean(square(inner / lengths)).item() / steps;
    }
    for (std::size_t i = 0; i < all.size(); ++i) Parameter(all[i]).set(kept[i]);
    CHECK(drift.share == Approx(std::sqrt(share)).epsilon(1e-4));
    CHECK(drift.walk == Approx(std::sqrt(walk)).epsilon(1e-4));
    CHECK(drift.decay == Approx(rate * weight_decay).epsilon(matrices_only ? 0.2 : 0.01));
    CHECK_THAT(drift.prediction, Contains("; decay takes away 0.000"));
    CHECK(drift.share > 5e-2);
  }
  Lamb lamb(parameters(net), {.weight_decay = 0});
  CHECK(drift_along(fields(net), found[0], lamb, loss).decay == 0);
}

TEST_CASE("drift leaves net and optimizer as they were", "[free_directions]") {
  const Task task;
  Adam adam(parameters(task.net), {.learning_rate = 0.01});
  task.train(adam, 3);
  const auto bits = [&] {
    const Tensor weights = task.net.w;
    std::vector<real> all(weights.values().begin(), weights.values().end());
    for (const Moments& each : adam.moments())
      all.insert(all.end(), each.values[0].values().begin(), each.values[0].values().end());
    return all;
  };
  const FreeDirection direction = task.direction(FreeKind::shift);
  const auto before = bits();
  drift_along(fields(task.net), direction, adam, [&] { return task.loss(); });
  CHECK(bits() == before);
  CHECK(adam.steps() == 3);
  for (const int last : {1, 2, 5, 8}) {
    int calls = 0;
    CHECK_THROWS_AS(drift_along(fields(task.net), direction, adam,
                                [&] {
                                  if (++calls == last) fail<DataError>("no more data");
                                  return task.loss();
                                }),
                    DataError);
    CHECK(bits() == before);
    CHECK(adam.steps() == 3);
  }
  const auto of_batch = free_directions(fields(task.net), task.x, [&](const Tensor& batch) {
    return mean(square(layer_norm(matmul(batch, task.net.w)) - task.target));
  });
  REQUIRE(of_batch.back().parts[0].name == "batch");
  CHECK_THROWS_WITH(
      drift_along(fields(task.net), of_batch.back(), adam, [&] { return task.loss(); }),
      Contains("batch is not among the optimizer's parameters"));
}
