#include "experiments/drift_training.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>

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
Learner regression(const std::string& norm, Index steps = 100) {
  Random random(3);
  const Mlp net({8, 24, 24, 3}, random, {.norm = NormSpec(norm)});
  const Tensor x = random.normal({256, 8}) + 0.5, y = random.normal({256, 3}) + 0.5;
  const auto loss = [=] { return mean(square(net(x) - y)); };
  return {.net = fields(net),
          .steps = RunSteps::epochs(1, steps),
          .loss = [=](Index) { return loss(); },
          .validate = [] { return Metrics(); },
          .test =
              [=] {
                return Metrics{{"test", loss().item()}};
              }};
}

DriftOptions options(Remedy remedy) {
  return {.optimizer = {.optimizer = "adam", .schedule = "constant", .learning_rate = 0.01},
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
    short_run.measures = 1;
    std::vector<Index> found;
    for (const CurvePoint& point :
         train_watched(regression("layer_simple", count), short_run).curve)
      found.push_back(point.step);
    return found;
  };
  CHECK(steps(3) == std::vector<Index>{1, 2, 3});
  const std::vector<Index> of_many = steps(100);
  CHECK(of_many.size() == 51);
  CHECK(std::vector(of_many.begin(), of_many.begin() + 3) == std::vector<Index>{1, 2, 4});
}

TEST_CASE("the gradient is compared with the gradient of attached statistics") {
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

namespace {

/// The lengths of what `constrained` finds in a net, by name, biases left out.
std::map<std::string, double> lengths_of(const Fields& net, const FeedsNorms& constrained) {
  std::map<std::string, double> lengths;
  for (const NamedParameter& named : net.parameters()) {
    if (!constrained(named.name) || named.parameter.shape().rank() < 2) continue;
    double squares = 0;
    for (const real w : named.parameter.value().values()) squares += w * w;
    lengths[named.name] = std::sqrt(squares);
  }
  return lengths;
}

/// An LSTM with a norm of each product, whose last state is to be a target.
Learner recurrent_task(const std::string& norm) {
  Random random(5);
  const RecurrentLayer net(Cell::lstm, 6, 8, random, {.norm = NormSpec(norm)});
  const Tensor x = random.normal({5, 16, 6}) + 0.5, y = random.normal({16, 8});
  const auto loss = [=] { return mean(square(net(x).last.h - y)); };
  return {.net = fields(net),
          .steps = RunSteps::epochs(1, 20),
          .loss = [=](Index) { return loss(); },
          .validate = [] { return Metrics(); },
          .test = [] { return Metrics(); }};
}

/// By how much the length of a weight that feeds a norm grows in 20 steps, at most and at least.
std::pair<double, double> growth(const Learner& task, const char* optimizer, double rate,
                                 bool unit) {
  const FeedsNorms found = find_feeding(task);
  const auto before = lengths_of(task.net, found);
  REQUIRE_FALSE(before.empty());
  train_watched(
      task, {.optimizer = {.optimizer = optimizer, .schedule = "constant", .learning_rate = rate},
             .unit = unit});
  double most = -INFINITY, least = INFINITY;
  for (const auto& [name, length] : lengths_of(task.net, found)) {
    most = std::max(most, length / before.at(name) - 1);
    least = std::min(least, length / before.at(name) - 1);
  }
  return {most, least};
}

}  // namespace

TEST_CASE("unit keeps the length of what feeds norms, which a detached deviation lets grow") {
  Random random(1);
  const DriftData data{.grammar = support::CharText(support::grammar_text(200, random)),
                       .images = support::draw_image_sets(1)};
  const auto made = [&](const std::string& task) {
    if (task == "regression") return regression("detach_variance");
    if (task == "lstm") return recurrent_task("detach_variance");
    return make_task({.task = task, .optimizer = "adam", .net = {}, .steps = 20, .images = 4},
                     "detach_variance", data, {.seed = 1});
  };
  // Linear, recurrent, attention and convolutional weights.
  for (const std::string task : {"regression", "lstm", "grammar", "cnn"})
    for (const auto& [optimizer, rate] :
         std::map<const char*, double>{{"adam", 0.01}, {"momentum", 0.1}, {"sgd", 0.3}}) {
      CAPTURE(task, optimizer);
      const auto [most, least] = growth(made(task), optimizer, rate, true);
      CHECK(std::abs(most) < 1e-5);
      CHECK(std::abs(least) < 1e-5);
      const auto [grown, shrunk] = growth(made(task), optimizer, rate, false);
      CHECK(std::max(grown, -shrunk) > 0.01);
      if (std::string(optimizer) == "adam") CHECK(grown > 0.01);
    }
}

TEST_CASE("weights that are centered and of constant length are both") {
  DriftOptions both = options(Remedy::center);
  both.unit = true;
  const Outcome outcome = train_watched(regression("detach"), both);
  CHECK(outcome.traces.at("weights").back().second < 1e-4);
  CHECK(outcome.traces.at("length").back().second == Approx(1).epsilon(1e-5));
  CHECK(largest(train_watched(regression("detach"), options(Remedy::none)), "length") > 1.1);
}

TEST_CASE("the angle of a step is that between the weights before and after it") {
  // SGD turns a weight by about rate |g| / |W| where g is orthogonal to it, as before a norm.
  DriftOptions one = options(Remedy::none);
  one.optimizer = {.optimizer = "sgd", .schedule = "constant", .learning_rate = 0.01};
  one.measures = 1;
  const Learner task = regression("layer_simple", 1);
  double expected = 0;
  for (const char* name : {"layers.0.weight", "layers.3.weight"}) {
    const Tape tape;
    const std::vector<Parameter> weight =
        parameters(task.net, [&](const std::string& each) { return each == name; });
    const Tensor g = grad(batch_loss(task, 0), weight)[0], w = weight[0].value();
    expected += std::atan(0.01 * std::sqrt(sum(square(g)).item() / sum(square(w)).item())) / 2;
  }
  CHECK(train_watched(task, one).traces.at("angle").front().second ==
        Approx(expected).epsilon(0.01));
}

TEST_CASE("which weights feed norms is found in recurrent layers, for every norm") {
  for (const char* norm : {"layer_simple", "detach", "rms"}) {
    const Learner task = recurrent_task(norm);
    const FeedsNorms found = find_feeding(task);
    CHECK(found("input.weight"));
    CHECK(found("weight"));
    CHECK_FALSE(found("input_norm.parts.0.gain"));
  }
}

TEST_CASE("systems have a norm, a remedy and perhaps lengths that are kept") {
  const auto plain = norm_and_constraints("detach_mean");
  CHECK(plain.norm.statistics.detach_mean);
  CHECK(plain.remedy == Remedy::none);
  CHECK_FALSE(plain.unit);
  const auto both = norm_and_constraints("detach_variance+center+unit");
  CHECK(both.norm.statistics.detach_scale);
  CHECK(both.remedy == Remedy::center);
  CHECK(both.unit);
  CHECK(norm_and_constraints("layer_simple+unit").remedy == Remedy::none);
  const NormSpec rms = norm_and_constraints("rms_detached").norm;
  CHECK(rms.method->name == "rms");
  CHECK(rms.statistics.detach_scale);
  CHECK_FALSE(rms.affine);
  CHECK_FALSE(norm_and_constraints("rms_simple+center").norm.statistics.detach_scale);
  CHECK_THROWS_WITH(norm_and_constraints("detach+units"), Catch::Contains("unknown remedy units"));
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
    const Learner made =
        make_task({.task = task, .optimizer = "adam", .net = {.placement = placement}, .steps = 20},
                  "layer_simple", data, {.seed = 1});
    return parameters(made.net, find_feeding(made)).size();
  };
  CHECK(chosen("grammar", "pre") == 2 + 2 * 2);  // embeddings, then two projections in a block
  CHECK(chosen("grammar", "post") == 2 * 2);
  CHECK(chosen("mnist", "pre") == 2 * 2);  // weights and biases
  CHECK(chosen("cnn", "pre") == 3 * 2);
}

TEST_CASE("the common mode of weights stays the initial one until the mean is detached") {
  // The first layer has 8 inputs and 24 outputs, the second 24 and 24.
  const Learner task = regression("layer_simple");
  double initial = 0;
  for (const char* name : {"layers.0.weight", "layers.3.weight"}) {
    const std::vector<Parameter> found =
        parameters(task.net, [&](const std::string& each) { return each == name; });
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
