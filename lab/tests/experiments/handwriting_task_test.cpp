#include "problems/handwriting.h"

#include <catch2/catch.hpp>

#include "experiments/matrix_task.h"
#include "experiments/paper.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::problems;
using namespace tapegrad::support;

namespace {

HandwritingSets few_lines() {
  HandwritingSets sets = write_handwriting_sets(1);
  sets.validation.resize(4);
  sets.test.resize(5);
  return sets;
}

Outcome trained(const std::string& task, const HandwritingSets& sets, const std::string& system) {
  const HandwritingSizes small{
      .model = {.net = {.layers = 2, .hidden = 12, .components = 2}, .bumps = 2, .advance = 0.057},
      .batch_size = 4,
      .steps = 6,
      .eval_interval = 3};
  return task_of(ba2016().task(task), handwriting_problem(sets, task == "written_digits", small))
      .train({{system, 1e-2}, {1}, true});
}

}  // namespace

TEST_CASE("the cost of a move is the mean over lines, and falls in training") {
  const Outcome outcome = trained("written_digits", few_lines(), "layer");
  CHECK(outcome.items.size() == 5);
  CHECK(outcome.values.at("test") == Approx(mean_of_items(outcome)));
  CHECK(outcome.curve.back().training < outcome.curve.front().training);
  const lab::RunTrace& norms = outcome.traces.at("gradient_norm");
  REQUIRE(norms.size() == 2);
  CHECK(outcome.values.at("largest_gradient") == std::max(norms[0].second, norms[1].second));
}

TEST_CASE("only the task with texts reads them") {
  HandwritingSets other = few_lines();
  for (std::vector<WrittenLine>* lines : {&other.validation, &other.test})
    for (WrittenLine& line : *lines) line.digits = {7};
  const auto test = [](const std::string& task, const HandwritingSets& sets) {
    return trained(task, sets, "none").values.at("test");
  };
  CHECK(test("omniglot", other) == test("omniglot", few_lines()));
  CHECK(test("written_digits", other) != test("written_digits", few_lines()));
}
