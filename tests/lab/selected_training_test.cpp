#include "lab/selected_training.h"

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

/// A training of one number towards 0 whose validations have these values; tests the number.
struct Toy {
  Point point = {};
  std::vector<double> validations;
  std::size_t validated = 0;
  std::vector<double> numbers = {};  // at each validation

  SelectedTraining training() {
    return {.net = fields(point),
            .optimizer = {.optimizer = "sgd", .schedule = "constant", .learning_rate = 0.1},
            .steps = 2 * std::ssize(validations),
            .eval_interval = 2,
            .loss = [&](Index) { return sum(square(Tensor(point.x))); },
            .validate =
                [&] {
                  numbers.push_back(point.x.value().item());
                  const double value = validations[validated++];
                  return Validation{value, 7, {{"value", value}}};
                },
            .test = [&](Outcome& outcome) { outcome.values["test"] = point.x.value().item(); }};
  }
};

}  // namespace

TEST_CASE("the state with the best validation is tested, the first of equal ones") {
  for (const auto& [validations, best] :
       {std::pair{std::vector<double>{1, 3, 2}, 1}, {{3, 1, 3}, 0}, {{1, 2, 3}, 2}}) {
    Toy toy{.validations = validations};
    const Outcome outcome = train_selected(toy.training(), by_validation, true, {});
    CHECK(outcome.values.at("test") == toy.numbers.at(static_cast<std::size_t>(best)));
    CHECK(outcome.values.at("validation") == 3);
  }
}

TEST_CASE("a curve begins with the first batch and has a point for each interval") {
  Toy toy{.validations = {1, 2}};
  std::vector<Index> seen;
  const Outcome outcome = train_selected(toy.training(), by_validation, false,
                                         [&](Index step, double) { seen.push_back(step); });
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

TEST_CASE("what is traced stands at the steps of validations, and gradients are seen unclipped") {
  Toy toy{.validations = {1, 2}};
  SelectedTraining training = toy.training();
  training.optimizer.clip_norm = 0.1;
  std::vector<double> norms;
  training.gradients = [&](const std::vector<Tensor>& gradients) {
    norms.push_back(global_norm(gradients));
  };
  const Outcome outcome = train_selected(training, by_validation, false, {});
  CHECK(outcome.traces.at("value") == Trace{{2, 1}, {4, 2}});
  REQUIRE(norms.size() == 4);
  CHECK(norms[0] == Approx(8));
  CHECK(norms[1] == Approx(7.98));  // the first step was 0.1 * 0.1 long
}

TEST_CASE("the interval between validations must divide the steps") {
  Toy toy{.validations = {1}};
  SelectedTraining training = toy.training();
  training.eval_interval = 3;
  CHECK_THROWS_AS(train_selected(training, by_validation, true, {}), ArgumentError);
}

TEST_CASE("what is said of an optimizer follows from its options") {
  CHECK(in_words({}) == "Adam\ncosine");
  CHECK(in_words({.schedule = "constant", .clip_norm = 10}) ==
        "Adam\nconstant rate\nclipped to 10");
  CHECK(in_words({.warmup = 100, .clip_norm = 0.25}) == "Adam\nwarmup and cosine\nclipped to 0.25");
  CHECK(in_words({.schedule = "constant", .clip_each = 2}) ==
        "Adam\nconstant rate\neach gradient clipped to 2");
  CHECK(in_words({.optimizer = "adamw", .schedule = "warmup", .beta2 = 0.98}) ==
        "AdamW\nbetas 0.9 and 0.98\ninverse square root");
}
