#include "problems/draw.h"

#include <catch2/catch.hpp>

#include "experiments/matrix_task.h"
#include "experiments/paper.h"
#include "tapegrad/tapegrad.h"

using namespace tapegrad;
using namespace tapegrad::lab;
using namespace tapegrad::problems;
using namespace tapegrad::support;

namespace {

ImageSets few_digits() {
  ImageSets sets = draw_binary_image_sets(1);
  sets.train = first_images(sets.train, 200);
  sets.validation = first_images(sets.validation, 40);
  sets.test = first_images(sets.test, 50);
  return sets;
}

MatrixTask small(Index steps) {
  return task_of(
      ba2016().task("draw"),
      draw_problem(few_digits(),
                   {.model = {.glimpses = 2, .hidden = 16, .latent = 4, .read = 2, .write = 5},
                    .batch_size = 20,
                    .steps = steps,
                    .eval_interval = steps / 2,
                    .watched = 30}));
}

Outcome trained(const std::string& system, Index steps) {
  return small(steps).train({{system, 1e-2}, {1}, true});
}

}  // namespace

TEST_CASE("the bound is the mean over images and the sum of its parts, and falls in training") {
  const Outcome outcome = trained("layer", 60);
  CHECK(outcome.items.size() == 50);
  CHECK(outcome.values.at("test") == Approx(mean_of_items(outcome)));
  CHECK(outcome.values.at("test_divergence") + outcome.values.at("test_reconstruction") ==
        Approx(outcome.values.at("test")).margin(1e-3));
  CHECK(outcome.curve.back().validation.has_value());
  CHECK(outcome.values.at("test") < 0.6 * trained("layer", 2).values.at("test"));
}

TEST_CASE("the three systems of DRAW differ") {
  const double none = trained("none", 2).values.at("test"),
               cell = trained("layer", 2).values.at("test"),
               everywhere = trained("layer_everywhere", 2).values.at("test");
  CHECK(none != cell);
  CHECK(none != everywhere);
  CHECK(cell != everywhere);
}

TEST_CASE("independent pixels are predicted by their shares") {
  const auto set = [](Index count, const std::vector<std::uint8_t>& pixels) {
    return ImageSet{.height = 1,
                    .width = 2,
                    .pixels = pixels,
                    .labels = std::vector<std::uint8_t>(static_cast<std::size_t>(count), 0)};
  };
  // The first pixel is white in two of three images, the second in none.
  const ImageSets sets{"drawn", set(3, {255, 0, 255, 0, 0, 0}), set(1, {0, 0}), set(1, {255, 0}),
                       1};
  const Outcome cost = draw_problem(sets).baselines.at("pixels_apart")();
  CHECK(cost.values.at("test") == Approx(-std::log(3. / 5) - std::log(4. / 5)));
}
