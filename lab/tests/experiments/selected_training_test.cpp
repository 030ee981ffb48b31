#include "experiments/selected_training.h"

#include <catch2/catch.hpp>

#include "tapegrad/core/error.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;

namespace {

const Metric by_validation{.value = "validation", .higher_is_better = true, .worst = 0};

struct Point {
  Parameter x{Tensor({1}, {4})};
  void visit(Fields& field) const { field("x", x); }
};

/// A run of one number towards 0 whose validations have these values; tests the number.
struct Toy {
  std::vector<double> validations;
  OptimizerFlags optimizer = {.optimizer = "sgd", .schedule = "constant"};
  Index eval_interval = 2;
  std::vector<double> numbers = {};  // at each validation
  std::vector<double> norms = {};    // of the gradients of each step

  Outcome train(bool tested, const std::function<void(Index, double)>& seen = {});
};

class ToyTrainee : public problems::Trainee {
 public:
  explicit ToyTrainee(Toy& toy) : toy_(toy) {}

  Fields net() const override { return fields(point_); }
  Index rows(Index) override { return 1; }
  Tensor loss(Index, const Shard&, Random&) override { return sum(square(Tensor(point_.x))); }
  problems::Validation validate() override {
    const double value = toy_.validations[toy_.numbers.size() % toy_.validations.size()];
    toy_.numbers.push_back(point_.x.value().item());
    return {value, 7, {{"value", value}}};
  }
  void test(Outcome& outcome) override { outcome.values["test"] = point_.x.value().item(); }
  void watch(const std::vector<Tensor>& gradients) override {
    toy_.norms.push_back(global_norm(gradients));
  }

 private:
  Toy& toy_;
  Point point_;
};

Outcome Toy::train(bool tested, const std::function<void(Index, double)>& seen) {
  problems::Problem problem{};
  problem.optimizer = optimizer;
  problem.steps = 2 * std::ssize(validations);
  problem.eval_interval = eval_interval;
  problem.trainee = [this](const TaskTrial&, Random&) {
    return std::make_unique<ToyTrainee>(*this);
  };
  return train_selected(problem, by_validation, {{"none", 0.1}, {1}, tested, seen});
}

}  // namespace

TEST_CASE("the state with the best validation is tested, the first of equal ones") {
  for (const auto& [validations, best] :
       {std::pair{std::vector<double>{1, 3, 2}, 1}, {{3, 1, 3}, 0}, {{1, 2, 3}, 2}}) {
    Toy toy{.validations = validations};
    const Outcome outcome = toy.train(true);
    CHECK(outcome.values.at("test") == toy.numbers.at(static_cast<std::size_t>(best)));
    CHECK(outcome.values.at("validation") == 3);
  }
}

TEST_CASE("a curve begins with the first batch and has a point for each interval") {
  Toy toy{.validations = {1, 2}};
  std::vector<Index> seen;
  const Outcome outcome = toy.train(false, [&](Index step, double) { seen.push_back(step); });
  CHECK(seen == std::vector<Index>{1, 2, 3, 4});
  REQUIRE(outcome.curve.size() == 3);
  CHECK(outcome.curve[0] == CurvePoint{1, 16});
  CHECK(outcome.curve[1].step == 2);
  CHECK(outcome.curve[1].training == Approx((16 + 3.2 * 3.2) / 2));
  CHECK(outcome.curve[1].validation == 7);
  CHECK(outcome.values.at("training_loss") == outcome.curve[2].training);
  CHECK(outcome.values.at("validation_loss") == 7);
  CHECK_FALSE(outcome.values.contains("test"));
}

TEST_CASE("a curve with a validation after each batch has one point for the first") {
  Toy toy{.validations = {1, 2}, .eval_interval = 1};
  const Outcome outcome = toy.train(false);
  REQUIRE(outcome.curve.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(outcome.curve[i].step == static_cast<Index>(i) + 1);
  CHECK(outcome.curve[0] == CurvePoint{1, 16, 7});
}

TEST_CASE("what is traced stands at the steps of validations, and gradients are seen unclipped") {
  Toy toy{.validations = {1, 2}};
  toy.optimizer.clip_norm = 0.1;
  const Outcome outcome = toy.train(false);
  CHECK(outcome.traces.at("value") == lab::RunTrace{{2, 1}, {4, 2}});
  REQUIRE(toy.norms.size() == 4);
  CHECK(toy.norms[0] == Approx(8));
  CHECK(toy.norms[1] == Approx(7.98));  // the first step was 0.1 * 0.1 long
}

TEST_CASE("the interval between validations must divide the steps") {
  Toy toy{.validations = {1}, .eval_interval = 3};
  CHECK_THROWS_AS(toy.train(true), ArgumentError);
}

TEST_CASE("the description of training follows from its options") {
  CHECK(in_words({}) == "Adam\ncosine");
  CHECK(in_words({.schedule = "constant", .clip_norm = 10}) ==
        "Adam\nconstant rate\nclipped to 10");
  CHECK(in_words({.warmup = 100, .clip_norm = 0.25}) == "Adam\nwarmup and cosine\nclipped to 0.25");
  CHECK(in_words({.schedule = "constant", .clip_each = 2}) ==
        "Adam\nconstant rate\neach gradient clipped to 2");
  CHECK(in_words({.optimizer = "adamw", .schedule = "warmup", .beta2 = 0.98}) ==
        "AdamW\nbetas 0.9 and 0.98\ninverse square root");
}
