#include "tapegrad/nn/optimizers/optimizer.h"

#include <catch2/catch.hpp>

#include "support/golden.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

// Ten steps on gradients that tests/golden/optimizers.py drew, from its start to its end.
template <class Make>
void check_steps(const std::string& row, const Make& make) {
  const Golden expected = golden("optimizers.json", row);
  Parameter w(expected.inputs[0]);
  const auto optimizer = make(std::vector{w});
  for (std::size_t i = 1; i < expected.inputs.size(); ++i) optimizer->step({expected.inputs[i]});
  CHECK(relative_error(w.value(), expected.value) < golden_tolerance);
}

template <class Kind, class Options>
auto with(Options options) {
  return [options](std::vector<Parameter> list) { return std::make_unique<Kind>(list, options); };
}

}  // namespace

TEST_CASE("optimizers take PyTorch's steps", "[nn]") {
  check_steps("sgd", with<Sgd>(SgdOptions{.learning_rate = 0.1, .weight_decay = 0.01}));
  check_steps("sgd_momentum", with<Sgd>(SgdOptions{.learning_rate = 0.1, .momentum = 0.9}));
  check_steps("sgd_nesterov",
              with<Sgd>(SgdOptions{
                  .learning_rate = 0.1, .momentum = 0.9, .nesterov = true, .weight_decay = 0.01}));
  check_steps("adam",
              with<Adam>(AdamOptions{.learning_rate = 0.1, .beta1 = 0.8, .weight_decay = 0.01}));
  check_steps("adamw",
              with<AdamW>(AdamWOptions{.learning_rate = 0.1, .beta2 = 0.99, .weight_decay = 0.1}));
  check_steps("rmsprop", with<RmsProp>(RmsPropOptions{
                             .learning_rate = 0.1, .momentum = 0.5, .weight_decay = 0.01}));
  check_steps("adagrad",
              with<Adagrad>(AdagradOptions{
                  .learning_rate = 0.1, .learning_rate_decay = 0.05, .weight_decay = 0.01}));
}

TEST_CASE("an optimizer refuses gradients that do not fit, and changes nothing", "[nn]") {
  Parameter w(ones({2}), "w");
  Adam adam({w});
  CHECK_THROWS_AS(adam.step({}), ShapeError);
  CHECK_THROWS_WITH(adam.step({ones({3})}),
                    "adam: gradient 0 has another shape: (3) for parameter w of shape (2)");
  CHECK(adam.steps() == 0);
  CHECK(w.value().data()[0] == 1);
  CHECK_THROWS_AS(Sgd({w}, {.nesterov = true}), ArgumentError);
  CHECK_THROWS_WITH(Adam({w, w}), "adam: a parameter is listed twice: w (2)");
}

TEST_CASE("moments that were read do not change in a later step", "[nn]") {
  Adam adam({Parameter(ones({2}))});
  adam.step({ones({2})});
  const std::vector<Moments> kept = adam.moments();
  const real mean = kept[0].values[0].data()[0];
  adam.step({ones({2})});
  CHECK(kept[0].values[0].data()[0] == mean);
  CHECK(adam.moments()[0].values[0].data()[0] != mean);
}

TEST_CASE("long parameters are updated in tiles like short ones", "[nn]") {
  Random random(1);
  const Tensor start = random.normal({40'001}), g = random.normal({40'001});
  Parameter whole(start);
  Adam adam({whole});
  adam.step({g});
  for (const Index i : {0, 16'383, 16'384, 32'768, 40'000}) {
    // The first step of Adam is the rate, against the sign of the gradient.
    const double expected = start.data()[i] - 1e-3 * (g.data()[i] > 0 ? 1 : -1);
    CHECK(whole.value().data()[i] == Approx(expected).margin(1e-5));
  }
}

TEST_CASE("weight decay of matrices only leaves vectors alone", "[nn]") {
  for (const bool only : {false, true}) {
    Parameter matrix(ones({2, 2})), vector(ones({2}));
    AdamW adam({matrix, vector},
               {.learning_rate = 0.1, .weight_decay = 0.5, .matrices_only = only});
    adam.step({zeros({2, 2}), zeros({2})});
    CHECK(matrix.value().data()[0] == Approx(0.95));
    CHECK(vector.value().data()[0] == Approx(only ? 1 : 0.95));
  }
}
