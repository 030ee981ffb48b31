#include "experiments/factorial.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tapegrad/core/error.h"

using namespace tapegrad;
using namespace tapegrad::lab;

TEST_CASE("the factorial crosses values and projections at the factor 1", "[lab][factorial]") {
  CHECK(factorial_paper().tasks.size() == 16);
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
  for (const char* name : {"pre_6x64_adam", "perceptron_he_momentum", "conv_net_adam"})
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

TEST_CASE("the initial weights of a perceptron are what its condition names", "[lab][factorial]") {
  const auto tasks =
      factorial_tasks({"perceptron_library_adam", "perceptron_he_adam"}, {}, problems::Size::smoke);
  const auto first_loss = [](const MatrixTask& task) {
    return task.train({{"none", 1e-9}, {.seed = 5}, false}).curve.front().training;
  };
  // Small weights answer log(10) to everything; those of He et al. keep the size of their input.
  CHECK(first_loss(tasks[0]) == Approx(std::log(10.0)).epsilon(0.02));
  CHECK(first_loss(tasks[1]) != Approx(std::log(10.0)).epsilon(0.02));
}
