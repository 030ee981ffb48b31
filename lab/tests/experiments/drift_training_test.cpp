#include "experiments/drift_training.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "experiments/drift_tasks.h"
#include "support/grammar.h"
#include "tapegrad/core/error.h"
#include "tapegrad/models/mlp.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::support;

namespace {

// A perceptron with a norm before each of two ReLUs, whose inputs have a mean.
LearningTask regression(const std::string& norm) {
  Random random(3);
  const Mlp net({8, 24, 24, 3}, random, {.norm = NormSpec(norm)});
  const Tensor x = random.normal({256, 8}) + 0.5, y = random.normal({256, 3}) + 0.5;
  return {.fields = fields(net),
          .feeds_norms = [](const std::string& name) { return !name.starts_with("layers.6."); },
          .next = [=] { return [=] { return mean(square(net(x) - y)); }; },
          .validation = [=] { return mean(square(net(x) - y)).item(); },
          .test = [=] { return mean(square(net(x) - y)).item(); }};
}

DriftOptions options(Remedy remedy) {
  return {.optimizer = {.optimizer = "adam", .schedule = "constant", .learning_rate = 0.01},
          .steps = 100,
          .measures = 20,
          .remedy = remedy};
}

double last_loss(const std::string& norm, Remedy remedy) {
  return train_watched(regression(norm), options(remedy)).values.at("test");
}

// The least after the first step.
double least(const Outcome& outcome, const std::string& trace) {
  double value = INFINITY;
  for (const auto& [step, y] : outcome.traces.at(trace))
    if (step > 1) value = std::min(value, y);
  return value;
}

double largest(const Outcome& outcome, const std::string& trace) {
  double value = -INFINITY;
  for (const auto& [step, y] : outcome.traces.at(trace)) value = std::max(value, y);
  return value;
}

}  // namespace

TEST_CASE("projected gradients change nothing if the mean is attached, and repair a detached one") {
  const double plain = last_loss("layer_simple", Remedy::none);
  const double drifting = last_loss("detach_mean", Remedy::none);
  CHECK(last_loss("layer_simple", Remedy::project) == Approx(plain).epsilon(1e-3));
  CHECK(drifting > 1.02 * plain);
  CHECK(std::abs(last_loss("detach_mean", Remedy::project) - plain) < (drifting - plain) / 3);
}

TEST_CASE("a detached mean drifts, and remedies end that") {
  const auto ratio = [](const char* norm, Remedy remedy) {
    return largest(train_watched(regression(norm), options(remedy)), "ratio");
  };
  const double attached = ratio("layer_simple", Remedy::none);
  const double drifting = ratio("detach_mean", Remedy::none);
  CHECK(drifting > 3 * attached);
  for (const Remedy remedy : {Remedy::project, Remedy::center, Remedy::penalty, Remedy::clip})
    CHECK(ratio("detach_mean", remedy) < drifting / 2);
}

TEST_CASE("the curve of a run has the first loss, then means, each at a step of its own") {
  const auto steps = [](Index count) {
    DriftOptions short_run = options(Remedy::none);
    short_run.steps = count;
    short_run.measures = 1;
    std::vector<Index> found;
    for (const CurvePoint& point : train_watched(regression("layer_simple"), short_run).curve)
      found.push_back(point.step);
    return found;
  };
  CHECK(steps(3) == std::vector<Index>{1, 2, 3});
  const std::vector<Index> of_many = steps(100);
  CHECK(of_many.size() == 51);
  CHECK(std::vector(of_many.begin(), of_many.begin() + 3) == std::vector<Index>{1, 2, 4});
}

TEST_CASE("the gradient is compared with that of attached statistics") {
  const Outcome attached = train_watched(regression("layer_simple"), options(Remedy::none));
  CHECK(least(attached, "cosine") == Approx(1));
  CHECK(largest(attached, "size") == Approx(1));
  CHECK(largest(attached, "common") < 1e-4);
  const Outcome detached = train_watched(regression("detach_mean"), options(Remedy::none));
  CHECK(least(detached, "cosine") < 0.9);
  CHECK(largest(detached, "common") > 0.1);
  CHECK(least(train_watched(regression("detach"), options(Remedy::none)), "cosine") < 0.99);
}

TEST_CASE("every norm is looked at, from the input on") {
  const Outcome attached = train_watched(regression("layer_simple"), options(Remedy::none));
  const Outcome detached = train_watched(regression("detach_mean"), options(Remedy::none));
  for (const std::size_t norm : {0, 1}) {
    CHECK(least(attached, of_norm("cosine", norm)) == Approx(1));
    CHECK(least(detached, of_norm("cosine", norm)) < 0.99);
    CHECK(least(detached, of_norm("variance", norm)) > 0);
  }
  CHECK_FALSE(detached.traces.contains(of_norm("ratio", 2)));
  const auto last = [&](const std::string& trace) { return detached.traces.at(trace).back(); };
  CHECK(last("ratio").second ==
        std::max(last("ratio of norm 1").second, last("ratio of norm 2").second));
  CHECK(last("deviation") == last("deviation of norm 2"));
  CHECK(last("ratio of norm 1").first == 100);
}

TEST_CASE("attached statistics change the gradient of a detached norm, not its values") {
  Random random(1);
  const Tensor x = random.normal({4, 6}) + 1, g = random.normal({4, 6});
  const Norm simple("layer_simple", 6), detached("detach", 6);
  const auto gradient = [&](const Norm& norm) {
    return vjp([&](const std::vector<Tensor>& in) { return norm(in[0]); }, {x}, g)[0];
  };
  const Tensor expected = gradient(simple);
  CHECK(max(abs(gradient(detached) - expected)).item() > 0.1);
  const AroundNorms around(with_attached_statistics);
  CHECK(max(abs(gradient(detached) - expected)).item() < 1e-5);
  CHECK(max(abs(detached(x) - simple(x))).item() < 1e-5);
}

TEST_CASE("unknown remedies are refused by name") {
  CHECK(remedy_of("clip") == Remedy::clip);
  CHECK_THROWS_WITH(remedy_of("clap"), Catch::Contains("unknown remedy clap; available: none"));
}

TEST_CASE("conditions differ from the base in one thing") {
  ConditionLists lists;
  lists.tasks = {"grammar", "cnn"};
  lists.optimizers = {"adam", "sgd"};
  std::vector<std::string> names;
  for (const Condition& condition : lists.conditions()) names.push_back(condition.name());
  CHECK(names == std::vector<std::string>{
                     "grammar adam library pre 2x32 300", "grammar sgd library pre 2x32 300",
                     "grammar adam library pre 2x32 1200", "grammar adam library pre 6x32 300",
                     "grammar adam library pre 2x128 300", "grammar adam paper pre 2x32 300",
                     "grammar adam library post 2x32 300", "cnn adam image 300",
                     "cnn sgd image 300", "cnn adam channels 300"});

  lists.tasks = {"cnn", "mnist"};  // neither depends on initial values, and a cnn on no sizes
  lists.optimizers = {"adam"};
  names.clear();
  for (const Condition& condition : lists.conditions()) names.push_back(condition.name());
  CHECK(names == std::vector<std::string>{"cnn adam image 300", "cnn adam channels 300",
                                          "cnn adam image 1200", "mnist adam 2x128 300"});
}

TEST_CASE("what feeds norms is all that it is made of") {
  Random random(1);
  const DriftData data{.grammar = support::CharText(support::grammar_text(200, random)),
                       .images = support::draw_image_sets(1)};
  const auto chosen = [&](const char* task, const char* placement) {
    const LearningTask made =
        make_task({.task = task, .optimizer = "adam", .net = {.placement = placement}, .steps = 20},
                  "layer_simple", data, {.seed = 1});
    return parameters(made.fields, made.feeds_norms).size();
  };
  CHECK(chosen("grammar", "pre") == 2 + 2 * 2);  // embeddings, then two projections in a block
  CHECK(chosen("grammar", "post") == 2 * 2);
  CHECK(chosen("mnist", "pre") == 2 * 2);  // weights and biases
  CHECK(chosen("cnn", "pre") == 3 * 2);
}

TEST_CASE("the common mode of weights is that of the initial ones until the mean is detached") {
  // The first layer has 8 inputs and 24 outputs, the second 24 and 24.
  const LearningTask task = regression("layer_simple");
  double initial = 0;
  for (const char* name : {"layers.0.weight", "layers.3.weight"}) {
    const std::vector<Parameter> found =
        parameters(task.fields, [&](const std::string& each) { return each == name; });
    REQUIRE(found.size() == 1);
    double of_mode = 0, of_rest = 0;
    for (Index i = 0; i < found[0].shape()[0]; ++i) {
      double c = 0;
      for (Index j = 0; j < 24; ++j)
        c += found[0].value().values()[static_cast<std::size_t>(24 * i + j)] / 24;
      for (Index j = 0; j < 24; ++j) {
        of_mode += c * c;
        of_rest += std::pow(found[0].value().values()[static_cast<std::size_t>(24 * i + j)] - c, 2);
      }
    }
    initial = std::max(initial, std::sqrt(of_mode / of_rest));
  }
  const auto weights = [](const char* norm, Remedy remedy) {
    return train_watched(regression(norm), options(remedy)).traces.at("weights");
  };
  DriftOptions still = options(Remedy::none);
  still.optimizer.learning_rate = 0;
  CHECK(train_watched(task, still).traces.at("weights").back().second == Approx(initial));
  CHECK(weights("detach_mean", Remedy::none).back().second > 2 * initial);
  CHECK(weights("detach_mean", Remedy::center).back().second < 1e-4);
}
