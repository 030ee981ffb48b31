#include "problems/digits.h"

#include <catch2/catch.hpp>

#include "experiments/matrix_task.h"
#include "experiments/paper.h"
#include "tapegrad/core/error.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::problems;
using namespace tapegrad::support;

namespace {

const PerceptronSizes small{
    .batch_size = 128, .limit = 1024, .images = 4096, .points = 4, .tested = 200};

}  // namespace

TEST_CASE("the rival that normalizes hidden layers only is the other one without its last norm") {
  const auto logits = [](const std::string& system, const Tensor& x) {
    Random random(3);
    return make_perceptron(system, random)(x, training(random));
  };
  const Tensor x = Random(4).uniform({6, 28, 28});
  Random unused(1);
  const Norm last("batch:unbiased=1", 10);
  const Tensor expected = last(logits("batch_hidden", x), training(unused));
  const Tensor found = logits("batch", x);
  CHECK(max(abs(found - expected)).item() < 1e-5);
  CHECK(max(abs(found - logits("batch_hidden", x))).item() > 0.1);
}

TEST_CASE("the biased variance is another one with batches of 4") {
  const auto net = [](const std::string& system) {
    Random random(3);
    return make_perceptron(system, random);
  };
  const Tensor x = Random(4).uniform({4, 28, 28});
  const Layer biased = net("batch_biased"), unbiased = net("batch");
  Random unused(1);
  CHECK(max(abs(biased(x, training(unused)) - unbiased(x, training(unused)))).item() > 0.01);
  CHECK(parameter_count(biased) == parameter_count(unbiased));
}

TEST_CASE("errors are the mean over images, measured at every point") {
  const MatrixTask task =
      task_of(ba2016().task("mnist_128"), perceptron_problem(draw_image_sets(1), small));
  const Outcome outcome = task.train({{"layer", 1e-3}, {1}, true});
  CHECK(outcome.items.size() == 200);
  for (const double item : outcome.items) CHECK((item == 0 || item == 100));
  CHECK(outcome.values.at("test") == Approx(mean_of_items(outcome)));
  CHECK(outcome.traces.at("test_error").size() == 4);
  const double without_net = task.baselines.at("linear_softmax")().values.at("test");
  CHECK(outcome.values.at("test") < without_net);
  CHECK(without_net < 90);  // of ten classes
}

TEST_CASE("batches of both sizes see equally many images") {
  for (const Index size : {128, 4}) {
    const PerceptronSizes whole{.batch_size = size};
    CHECK(whole.steps() * size == whole.images);
    CHECK(whole.steps() % whole.points == 0);
  }
}

TEST_CASE("the perceptron refuses images of another size") {
  ImageSets sets = draw_image_sets(1);
  sets.train.width = 14;
  CHECK_THROWS_AS(perceptron_problem(sets), DataError);
}
