#include "experiments/factorial.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "experiments/condition_tasks.h"
#include "experiments/forms.h"
#include "problems/handwriting.h"
#include "results.h"
#include "tapegrad/core/error.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using tapegrad::testing::results;

namespace {

/// What the errors of a task are: with no norm, and how far its parts are ahead of that.
struct Gains {
  double none = 40, backward = 2, forward = 5, both = 20;
};

/// A perceptron, whose margin is 1 %, with ten seeds.
MatrixColumn column_of(const std::string& name, const Gains& gains, bool at_edge = false) {
  const Metric error{.value = "test", .worst = 100};
  const std::vector<std::pair<Form, double>> ends{
      {no_norm_form, gains.none},
      {backward_form, gains.none - gains.backward},
      {forward_form, gains.none - gains.forward},
      {{true, false, Projection::both}, gains.none - gains.both},
      {layer_norm_form, gains.none - gains.both}};
  MatrixColumn column{.task = factorial_paper().task(name)};
  for (const auto& [form, end] : ends) {
    std::vector<double> values;
    for (int seed = 0; seed < 10; ++seed) values.push_back(end + 0.01 * seed);
    MatrixCell cell{form.norm() + "@1", results(form.norm(), error, values), {}, 3, true};
    cell.results.at_edge = at_edge;
    cell.choosing = {{.curve = {{1, 1}}, .values = {{"validation_loss", end}}}};
    column.cells[form.norm()] = cell;
  }
  return column;
}

// Interactions of 13, 15, 12 and 14; the backward pass behind the forward pass by 3, 2, 3 and 4.
Matrix four_settings() {
  return {column_of("perceptron_library_adam", {}),
          column_of("perceptron_library_adam", {.backward = 2, .forward = 4, .both = 21}),
          column_of("perceptron_library_adam", {.backward = 2, .forward = 5, .both = 19}),
          column_of("perceptron_library_adam", {.backward = 2, .forward = 6, .both = 22})};
}

}  // namespace

TEST_CASE("endpoints are judged over settings, with Holm's correction", "[lab][factorial]") {
  const std::vector<JudgedClaim> claims = factorial_predictions(four_settings(), "Adam");
  REQUIRE(claims.size() == 3);
  // The mean 13.5 of four, with the deviation sqrt(5/3): t = 20.9, and p = 0.00024 of three degrees
  // of freedom, which Holm counts twice, since the third p is smaller.
  CHECK(claims[0].judgement.verdict == Verdict::supported);
  CHECK(*claims[0].judgement.p == Approx(2 * 0.000240).epsilon(0.02));
  CHECK(claims[0].measured == "positive in 4 of 4 settings, sign test p 0.12");
  // -3 of four, with the deviation sqrt(2/3): t = -7.35, p = 0.0052.
  CHECK(claims[1].judgement.verdict == Verdict::contradicted);
  CHECK(*claims[1].judgement.p == Approx(0.0052).epsilon(0.02));
  CHECK(claims[1].measured.starts_with("positive in 0 of 4"));
  CHECK(claims[2].judgement.verdict == Verdict::contradicted);  // ahead by 2 in each
  CHECK(claims[2].measured.starts_with("positive in 0 of 4"));
}

TEST_CASE("Holm's correction takes back what one test alone would decide", "[lab][factorial]") {
  // Interactions of 1, 9, 10 and 12, t = 3.34 and p = 0.044; the others are 0 on the whole.
  const std::vector<JudgedClaim> claims = factorial_predictions(
      {column_of("perceptron_library_adam", {.backward = 1, .forward = 4, .both = 6}),
       column_of("perceptron_library_adam", {.backward = -1, .forward = -4, .both = 4}),
       column_of("perceptron_library_adam", {.backward = 1, .forward = -4, .both = 7}),
       column_of("perceptron_library_adam", {.backward = -1, .forward = 4, .both = 15})},
      "Adam");
  CHECK(claims[0].judgement.verdict == Verdict::inconclusive);
  CHECK(*claims[0].judgement.p == Approx(3 * 0.044).epsilon(0.03));
}

TEST_CASE("controls, and settings without need of a norm, decide nothing", "[lab][factorial]") {
  CHECK(assay(column_of("perceptron_library_adam", {.both = 20})) == 20);
  CHECK(assay(column_of("conv_net_adam", {.both = 6})) == Approx(20));
  for (const MatrixColumn& column :
       {column_of("perceptron_he_adam", {}), column_of("perceptron_library_adam", {.both = 2.9}),
        column_of("perceptron_library_adam", {}, true)})
    CHECK(factorial_predictions({column}, "Adam").empty());
  CHECK(factorial_predictions({column_of("perceptron_library_adam", {})}, "Adam")[0]
            .judgement.verdict == Verdict::inconclusive);
}

TEST_CASE("the factorial crosses values and projections at the factor 1", "[lab][factorial]") {
  CHECK(factorial_paper().tasks.size() == 18);
  CHECK(factorial_paper().task("pre_2_adam").all_systems().size() == 17);
  const std::vector<std::string> arms{"none",
                                      "detach_variance:forward=identity,factor=1",
                                      "detach_mean:forward=identity,factor=1",
                                      "layer_simple:forward=identity,factor=1",
                                      "detach:factor=1",
                                      "detach_variance:factor=1",
                                      "detach_mean:factor=1",
                                      "layer_simple:factor=1",
                                      "detach",
                                      "layer_simple",
                                      "rms_simple"};
  for (const char* name : {"pre_6x64_adam", "perceptron_he_momentum", "conv_net_adam", "lstm_adam"})
    CHECK(factorial_paper().task(name).all_systems() == arms);
}

TEST_CASE("a net without norms is trained, and no run of the factorial is watched",
          "[lab][factorial]") {
  const auto tasks =
      factorial_tasks({"post_6x64_adam", "perceptron_he_adam"}, {}, problems::Size::smoke);
  for (const MatrixTask& task : tasks) {
    const Outcome outcome = task.train({{"none", 0.01}, {.seed = 5}, true});
    CHECK(outcome.traces.empty());
    CHECK(outcome.values.contains("test"));
  }
  CHECK(tasks[1].configuration.at("initial values") == "N(0, 2/inputs)");
}

TEST_CASE("norms of the factorial are in the cells of an LSTM", "[lab][factorial]") {
  const PaperTask& column = factorial_paper().task("lstm_adam");
  CHECK(purpose_of({.task = column}) == Purpose::confirmation);
  const MatrixTask task = problem_task(
      column, problems::handwriting_problem("omniglot", {}, problems::Size::smoke), "adam", false);
  const auto trained = [&](const std::string& system) {
    return task.train({{system, 0.01}, {.seed = 5}, true});
  };
  const Outcome none = trained("none"), whole = trained("layer_simple");
  CHECK(none.traces.empty());
  CHECK(none.values.at("test") != whole.values.at("test"));
  // The value x with gradients of layer normalization is the net without norms, before training.
  const Outcome backward = trained(backward_form.norm());
  CHECK(first_point(backward).training == Approx(first_point(none).training));
  CHECK(backward.values.at("test") != none.values.at("test"));
}

TEST_CASE("the initial weights of a perceptron are what its condition names", "[lab][factorial]") {
  const auto tasks =
      factorial_tasks({"perceptron_library_adam", "perceptron_he_adam"}, {}, problems::Size::smoke);
  const auto first_loss = [](const MatrixTask& task) {
    return task.train({{"none", 1e-9}, {.seed = 5}, false}).curve.front().training;
  };
  // Small weights answer log(10) to everything; weights of He et al. keep the size of their input.
  CHECK(first_loss(tasks[0]) == Approx(std::log(10.0)).epsilon(0.02));
  CHECK(first_loss(tasks[1]) != Approx(std::log(10.0)).epsilon(0.02));
}
