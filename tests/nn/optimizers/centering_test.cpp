#include "tapegrad/nn/optimizers/centering.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "nn/optimizers/golden_steps.h"
#include "support/values.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/random.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/nn/layers/conv.h"
#include "tapegrad/nn/layers/linear.h"
#include "tapegrad/nn/optimizers/lamb.h"
#include "tapegrad/nn/optimizers/muon.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/norm.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

constexpr double centering_rounding = sizeof(real) == 8 ? 1e-12 : 1e-5;

double greatest(const Tensor& x) { return max(abs(x)).item(); }

// PyTorch's steps of one layer's weight.
void check_steps(const std::string& layer, const std::string& what, Centering over) {
  const std::string suffix =
      "_" + layer + "_" + what + (over == Centering::inputs ? "_inputs" : "_outputs");
  const Centering none = Centering::none;
  const Centering gradients = what == "gradients" ? over : none;
  const Centering weights = what == "weights" ? over : none;
  check_golden_steps("centering.json", "sgd" + suffix, [=](const std::vector<Parameter>& list) {
    return std::make_unique<Sgd>(list, SgdOptions{.learning_rate = 0.1,
                                                  .momentum = 0.9,
                                                  .weight_decay = 0.01,
                                                  .center_gradients = gradients,
                                                  .center_weights = weights});
  });
  check_golden_steps("centering.json", "adamw" + suffix, [=](const std::vector<Parameter>& list) {
    return std::make_unique<AdamW>(list, AdamWOptions{.learning_rate = 0.1,
                                                      .beta2 = 0.99,
                                                      .weight_decay = 0.1,
                                                      .center_gradients = gradients,
                                                      .center_weights = weights});
  });
}

// Three steps with both options end where steps along centered gradients end, if the weights are
// centered by hand after each. The options leave a gain and a bias of filters alone.
template <class Kind, class Options>
void check_options(const Options& plain, Centering gradients_over, Centering weights_over) {
  Options centering = plain;
  centering.center_gradients = gradients_over;
  centering.center_weights = weights_over;
  Random random(3);
  const std::vector<Tensor> starts{random.normal({6, 4}), random.normal({4, 2, 3, 3}), ones({5}),
                                   random.normal({4, 1, 1})};
  std::vector<Parameter> found, expected;
  for (const Tensor& start : starts) {
    found.emplace_back(start);
    expected.emplace_back(start);
  }
  Kind optimizer(found, centering), by_hand(expected, plain);
  for (int step = 0; step < 3; ++step) {
    std::vector<Tensor> gradients;
    for (const Tensor& start : starts) gradients.push_back(random.normal(start.shape()) + 0.5);
    optimizer.step(gradients);
    for (const int i : {0, 1}) gradients[i] = centered(gradients[i], gradients_over);
    by_hand.step(gradients);
    for (const int i : {0, 1}) center(expected[i], weights_over);
  }
  for (std::size_t i = 0; i < starts.size(); ++i)
    CHECK(same_bits(found[i].value(), expected[i].value()));
}

template <class Kind, class Options>
void check_options(const Options& plain) {
  check_options<Kind>(plain, Centering::outputs, Centering::inputs);
  check_options<Kind>(plain, Centering::inputs, Centering::outputs);
}

// Two layers before a norm, whose target has a mean that no normalized value has: if the mean is
// detached, that difference is a gradient of the common mode, at every step.
struct DriftingMeans {
  Random random{1};
  Linear hidden{8, 16, random}, output{16, 16, random};
  Tensor x = random.normal({64, 8});
  Tensor target = layer_norm(matmul(x, random.normal({8, 16}))) + 1;

  // The greatest |mu| / s after 200 steps, and the loss.
  std::pair<double, double> after(bool detached, const ParameterGroup& group) {
    Adam adam({hidden.weight, hidden.bias, output.weight, output.bias}, {.learning_rate = 0.01});
    adam.set_group({output.weight, output.bias}, group);
    for (int step = 0;; ++step) {
      const Tape tape;
      const Tensor a = output(relu(hidden(x)));
      const Tensor loss = mean(square(layer_norm(a, {.detach_mean = detached}) - target));
      if (step == 200) return {greatest(mean(a, -1) / stddev(a, -1)), loss.item()};
      adam.step(grad(loss, adam.parameters()));
    }
  }
};

}  // namespace

TEST_CASE("centered steps are PyTorch's with the reference code", "[nn][centering]") {
  for (const char* layer : {"linear", "filters"})
    for (const char* what : {"gradients", "weights"})
      for (const Centering over : {Centering::inputs, Centering::outputs})
        check_steps(layer, what, over);
}

TEST_CASE("the shape of a parameter shows its inputs and outputs", "[nn][centering]") {
  Random random(1);
  const auto without = [](const Tensor& x, const Axes& axes) {
    return x - mean(x, axes, Keep::yes);
  };
  const auto check = [&](const Shape& shape, const Axes& inputs, const Axes& outputs) {
    INFO(fmt::format("{}", shape));
    const Tensor x = random.normal(shape) + 1;
    CHECK(greatest(centered(x, Centering::inputs) - without(x, inputs)) < centering_rounding);
    CHECK(greatest(centered(x, Centering::outputs) - without(x, outputs)) < centering_rounding);
    CHECK(same_bits(centered(x, Centering::none), x));
  };
  check(Linear(5, 3, random).weight.shape(), {0}, {1});
  check(Conv1d(3, 4, 2, random).weight.shape(), {1, 2}, {0});
  check(Conv2d(3, 4, 5, random).weight.shape(), {1, 2, 3}, {0});
  check({300, 700}, {0}, {1});  // more than one task
  for (const Shape& vector : {Shape{7}, Shape{7, 1}, Shape{7, 1, 1}, Shape{1, 7}}) {
    const Tensor x = random.normal(vector) + 1;
    CHECK(is_vector(vector));
    CHECK(same_bits(centered(x, Centering::inputs), x));
    CHECK(std::abs(mean(centered(x, Centering::outputs)).item()) < centering_rounding);
  }
  CHECK(!is_vector({2, 2}));
  for (const Shape& single : {Shape{}, Shape{1}, Shape{1, 1}})
    CHECK(centered(ones(single), Centering::outputs).item() == 1);
  CHECK(greatest(centered(ones({1, 2, 3}), Centering::outputs)) == 1);  // a filter alone
}

TEST_CASE("every optimizer centers gradients before and weights after a step", "[nn][centering]") {
  check_options<Sgd>(SgdOptions{.momentum = 0.9, .weight_decay = 0.1});
  check_options<Adam>(AdamOptions{.weight_decay = 0.1});
  check_options<AdamW>(AdamWOptions{.weight_decay = 0.1, .matrices_only = true});
  check_options<RmsProp>(RmsPropOptions{.momentum = 0.5});
  check_options<Adagrad>(AdagradOptions{});
  check_options<Adadelta>(AdadeltaOptions{});
  check_options<Lion>(LionOptions{.weight_decay = 0.1});
  check_options<Lamb>(LambOptions{.weight_decay = 0.1});
  check_options<Muon>(MuonOptions{.weight_decay = 0.1});
}

TEST_CASE("groups are centered each in its way", "[nn][centering]") {
  const Tensor g({2, 2}, {1, 2, 3, 6});
  Parameter plain(zeros({2, 2})), rows(zeros({2, 2})), columns(zeros({2, 2})), bias(ones({2}));
  Sgd sgd({plain, rows, columns, bias},
          {.learning_rate = 1, .center_gradients = Centering::outputs});
  sgd.set_group({plain}, {.center_gradients = Centering::none});
  sgd.set_group({columns}, {.center_gradients = Centering::inputs});
  sgd.set_group({rows}, {.learning_rate_factor = 2});  // keeps the centering
  sgd.set_group({bias}, {.center_weights = Centering::outputs});
  sgd.step({g, g, g, Tensor({2}, {1, 3})});
  CHECK(same_bits(plain.value(), Tensor({2, 2}, {-1, -2, -3, -6})));
  CHECK(same_bits(rows.value(), Tensor({2, 2}, {1, -1, 3, -3})));
  CHECK(same_bits(columns.value(), Tensor({2, 2}, {1, 2, -1, -2})));
  CHECK(same_bits(bias.value(), Tensor({2}, {1, -1})));
  CHECK(g.data()[0] == 1);  // the caller's gradient stays
}

TEST_CASE("an attached mean leaves no common mode to take out", "[nn][centering]") {
  Random random(2);
  const Linear layer(6, 8, random);
  const Tensor x = random.normal({5, 6}) + 1, target = random.normal({5, 8});
  for (const bool detached : {false, true}) {
    const Tape tape;
    const Tensor y = layer_norm(layer(x), {.detach_mean = detached});
    for (const Tensor& g : grad(sum(square(y - target)), parameters(layer))) {
      const double change = greatest(centered(g, Centering::outputs) - g) / greatest(g);
      CHECK((detached ? change > 0.05 : change < centering_rounding));
    }
  }
}

TEST_CASE("a detached mean drifts unless outputs are centered", "[nn][centering]") {
  const auto [attached, least] = DriftingMeans().after(false, {});
  const auto [drifted, worse] = DriftingMeans().after(true, {});
  CHECK(attached < 2);
  CHECK(drifted > 100);
  CHECK(worse > least + 0.5);
  const auto [with_gradients, loss] =
      DriftingMeans().after(true, {.center_gradients = Centering::outputs});
  CHECK(with_gradients < 30);
  CHECK(loss < least + 0.3);
  const auto [with_weights, other] =
      DriftingMeans().after(true, {.center_weights = Centering::outputs});
  CHECK(with_weights < 0.01);
  CHECK(other < least + 0.4);
  // The mean over the inputs, as in Yong et al. 2020, is another direction.
  const auto [with_inputs, still] =
      DriftingMeans().after(true, {.center_gradients = Centering::inputs});
  CHECK(with_inputs > 40);
  CHECK(still > least + 0.5);
}

TEST_CASE("centering gives the same bits with any number of threads", "[nn][centering]") {
  const int before = threads();
  Random random(4);
  for (const Shape& shape : {Shape{700, 900}, Shape{50, 20, 3, 3}, Shape{100'003}}) {
    const Tensor x = random.normal(shape) + 1;
    for (const Centering over : {Centering::inputs, Centering::outputs}) {
      set_threads(1);
      const Tensor alone = centered(x, over);
      for (const int count : {2, 3, 8}) {
        set_threads(count);
        CHECK(same_bits(centered(x, over), alone));
      }
    }
  }
  set_threads(before);
}
