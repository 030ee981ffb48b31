#include "tapegrad/nn/optimizers/lamb.h"

#include <catch2/catch.hpp>
#include <memory>

#include "nn/optimizers/golden_steps.h"

using namespace tapegrad;
using namespace tapegrad::testing;

TEST_CASE("lamb takes the steps of its paper", "[nn]") {
  const auto make = [](const std::vector<Parameter>& list) {
    return std::make_unique<Lamb>(
        list, LambOptions{.learning_rate = 0.1, .beta1 = 0.8, .beta2 = 0.99, .weight_decay = 0.1});
  };
  check_steps("Lamb(w, lr=0.1, betas=(0.8, 0.99), weight_decay=0.1)", "3, 5", make);
  check_steps("Lamb(w, lr=0.1, betas=(0.8, 0.99), weight_decay=0.1)", "7", make);
}

TEST_CASE("lamb moves parameters of norm 0, and stands still without a gradient", "[nn]") {
  Parameter zero(zeros({2})), one(ones({2}));
  Lamb({zero, one}, {.learning_rate = 0.1}).step({ones({2}), zeros({2})});
  CHECK(zero.value().data()[0] == Approx(-0.1).epsilon(1e-5));
  CHECK(one.value().data()[0] == 1);
}
