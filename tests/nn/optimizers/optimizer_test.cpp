#include "tapegrad/nn/optimizers/optimizer.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>

#include "nn/optimizers/golden_steps.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"
#include "tapegrad/nn/layers/conv.h"
#include "tapegrad/nn/layers/norm.h"
#include "tapegrad/nn/optimizers/lamb.h"
#include "tapegrad/nn/optimizers/muon.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

template <class Kind, class Options>
auto with(Options options) {
  return [options](std::vector<Parameter> list) { return std::make_unique<Kind>(list, options); };
}

}  // namespace

TEST_CASE("optimizers take the steps of PyTorch or of their papers", "[nn]") {
  check_steps("torch.optim.SGD(w, lr=0.1, weight_decay=0.01)", "3, 5",
              with<Sgd>(SgdOptions{.learning_rate = 0.1, .weight_decay = 0.01}));
  check_steps("torch.optim.SGD(w, lr=0.1, momentum=0.9)", "3, 5",
              with<Sgd>(SgdOptions{.learning_rate = 0.1, .momentum = 0.9}));
  check_steps("torch.optim.SGD(w, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01)", "3, 5",
              with<Sgd>(SgdOptions{
                  .learning_rate = 0.1, .momentum = 0.9, .nesterov = true, .weight_decay = 0.01}));
  check_steps("torch.optim.Adam(w, lr=0.1, betas=(0.8, 0.999), weight_decay=0.01)", "3, 5",
              with<Adam>(AdamOptions{.learning_rate = 0.1, .beta1 = 0.8, .weight_decay = 0.01}));
  check_steps("torch.optim.AdamW(w, lr=0.1, betas=(0.9, 0.99), weight_decay=0.1)", "3, 5",
              with<AdamW>(AdamWOptions{.learning_rate = 0.1, .beta2 = 0.99, .weight_decay = 0.1}));
  check_steps(
      "torch.optim.RMSprop(w, lr=0.1, momentum=0.5, weight_decay=0.01)", "3, 5",
      with<RmsProp>(RmsPropOptions{.learning_rate = 0.1, .momentum = 0.5, .weight_decay = 0.01}));
  check_steps("torch.optim.Adagrad(w, lr=0.1, lr_decay=0.05, weight_decay=0.01)", "3, 5",
              with<Adagrad>(AdagradOptions{
                  .learning_rate = 0.1, .learning_rate_decay = 0.05, .weight_decay = 0.01}));
  check_steps("torch.optim.Adadelta(w, lr=0.5, rho=0.8, eps=1e-5, weight_decay=0.01)", "3, 5",
              with<Adadelta>(AdadeltaOptions{
                  .learning_rate = 0.5, .rho = 0.8, .epsilon = 1e-5, .weight_decay = 0.01}));
  check_steps("Lion(w, lr=0.1, weight_decay=0.1)", "3, 5",
              with<Lion>(LionOptions{.learning_rate = 0.1, .weight_decay = 0.1}));
}

TEST_CASE("lion stands still without a gradient, and shows NaN", "[nn]") {
  Parameter w(ones({2}));
  Lion({w}).step({zeros({2})});
  CHECK(w.value().data()[1] == 1);
  Lion({w}).step({full({2}, std::nan(""))});
  CHECK(std::isnan(w.value().data()[1]));
}

TEST_CASE("groups of parameters have their own learning rate and decay", "[nn]") {
  Parameter fast(ones({2})), still(ones({2})), other(ones({2}), "other");
  Sgd sgd({fast, still}, {.learning_rate = 0.5, .weight_decay = 0.1});
  sgd.set_group({fast}, {.learning_rate_factor = 2, .weight_decay = 0});
  sgd.set_group({still}, {.learning_rate_factor = 0});
  sgd.step({ones({2}), ones({2})});
  CHECK(fast.value().data()[0] == 0);
  CHECK(still.value().data()[0] == 1);
  sgd.set_group({still}, {.learning_rate_factor = 1});  // keeps the decay
  sgd.set_group({fast, still}, {});                     // keeps all
  sgd.step({zeros({2}), zeros({2})});
  CHECK(fast.value().data()[0] == 0);
  CHECK(still.value().data()[0] == Approx(0.95));
  CHECK_THROWS_WITH(sgd.set_group({still, other}, {.learning_rate_factor = 3}),
                    "sgd: a group has a parameter that is not the optimizer's: other");
  CHECK_THROWS_WITH(sgd.set_group({still}, {.learning_rate_factor = -1}),
                    "sgd: learning_rate_factor must be finite and not negative: -1");
  CHECK_THROWS_WITH(sgd.set_group({still}, {.weight_decay = -1}),
                    "sgd: weight_decay must be finite and not negative: -1");
  sgd.step({ones({2}), zeros({2})});
  CHECK(fast.value().data()[0] == -1);
}

TEST_CASE("what a group does not name stays", "[nn]") {
  Parameter w(ones({2}));
  Sgd sgd({w}, {.learning_rate = 1, .weight_decay = 0.5});
  sgd.set_group({w}, {.learning_rate_factor = 0.1});
  sgd.set_group({w}, {.weight_decay = 0});
  sgd.step({ones({2})});
  CHECK(w.value().data()[0] == Approx(0.9));

  // A first step of Adam is the rate: here 0.5 times 0.1.
  Parameter vector(ones({2}));
  Muon muon({vector}, {.learning_rate = 0.5, .weight_decay = 0.5, .vector_factor = 0.1});
  muon.set_group({vector}, {.weight_decay = 0});
  muon.step({ones({2})});
  CHECK(vector.value().data()[0] == Approx(0.95));
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

TEST_CASE("a step leaves parameters without a gradient as they are, and does not count for them") {
  // Under a constant gradient of 1, each step of Adam is the learning rate, since both moments are
  // then what their corrections divide by.
  Parameter w(ones({2})), other(ones({2}));
  AdamW adam({w, other}, {.learning_rate = 0.1, .weight_decay = 0});
  for (int step = 0; step < 3; ++step) adam.step({ones({2}), ones({2})});
  CHECK(w.value().data()[0] == Approx(0.7));
  const std::vector<real> before(w.value().values().begin(), w.value().values().end());
  adam.set_group({w}, {.weight_decay = 0.5, .center_weights = Centering::outputs});
  for (int step = 0; step < 3; ++step) adam.step({Tensor(), ones({2})});
  CHECK(std::equal(before.begin(), before.end(), w.value().values().begin()));
  adam.set_group({w}, {.weight_decay = 0, .center_weights = Centering::none});
  adam.step({ones({2}), Tensor()});
  CHECK(w.value().data()[0] == Approx(0.6));
  CHECK(other.value().data()[0] == Approx(0.4));
  CHECK(adam.steps() == 7);
  CHECK(adam.skipped() == std::vector<Index>{3, 1});
}

TEST_CASE("heads that take turns train as if each had an optimizer of its own") {
  const auto check = [](const char* name, const auto& make) {
    CAPTURE(name);
    Random random(1);
    const Tensor start = random.normal({3, 4}), gradients = random.normal({6, 3, 4});
    Parameter together[2] = {Parameter(start), Parameter(start)};
    Parameter alone[2] = {Parameter(start), Parameter(start)};
    const auto both = make({together[0], together[1]});
    const std::unique_ptr<Optimizer> each[2] = {make({alone[0]}), make({alone[1]})};
    for (int step = 0; step < 6; ++step) {
      const int turn = step == 3 ? 0 : step % 2;
      const Tensor slope = Tensor({3, 4}, gradients.values().subspan(12 * step, 12));
      std::vector<Tensor> one_of_two(2);
      one_of_two[turn] = slope;
      both->step(one_of_two);
      each[turn]->step({slope});
      for (int head = 0; head < 2; ++head)
        CHECK(std::ranges::equal(together[head].value().values(), alone[head].value().values()));
    }
  };
  const auto made = [&](const char* name, auto kind, auto options) {
    check(name, with<typename decltype(kind)::type>(options));
  };
  made("sgd", std::type_identity<Sgd>{}, SgdOptions{.momentum = 0.9, .weight_decay = 0.1});
  made("adam", std::type_identity<Adam>{}, AdamOptions{.weight_decay = 0.1});
  made("adamw", std::type_identity<AdamW>{}, AdamWOptions{.weight_decay = 0.1});
  made("rms_prop", std::type_identity<RmsProp>{}, RmsPropOptions{.momentum = 0.5});
  made("adagrad", std::type_identity<Adagrad>{}, AdagradOptions{.learning_rate_decay = 0.1});
  made("adadelta", std::type_identity<Adadelta>{}, AdadeltaOptions{});
  made("lion", std::type_identity<Lion>{}, LionOptions{.weight_decay = 0.1});
  made("lamb", std::type_identity<Lamb>{}, LambOptions{.weight_decay = 0.1});
  made("muon", std::type_identity<Muon>{}, MuonOptions{.weight_decay = 0.1});
}

TEST_CASE("the gradient of what a loss does not read can be left undefined") {
  Parameter trunk(zeros({})), heads[2] = {Parameter(zeros({})), Parameter(zeros({}))};
  Adam adam({trunk, heads[0], heads[1]}, {.learning_rate = 0.1});
  for (int step = 0; step < 4; ++step) {
    const Tape tape;
    const Tensor loss = trunk + heads[step % 2];
    adam.step(grad(loss, adam.parameters(), {.zeros = false}));
  }
  CHECK(trunk.value().item() == Approx(-0.4));
  CHECK(heads[0].value().item() == Approx(-0.2));
  CHECK(heads[1].value().item() == Approx(-0.2));
}

TEST_CASE("an optimizer without parameters is a mistake", "[nn]") {
  const std::vector<Parameter> all{Parameter(ones({3, 4}))};
  std::vector<Parameter> matrices;
  for (const Parameter& each : all)
    if (each.shape().size() == 2) matrices.push_back(each);
  CHECK_THROWS_WITH(Muon(matrices),
                    "muon: there are no parameters; if a filter chose them by shape: "
                    "shape().rank() counts axes, shape().size() elements");
  CHECK_THROWS_AS(Sgd({}), ArgumentError);
  CHECK_THROWS_WITH(Sgd(all).set_group(matrices, {.weight_decay = 0}),
                    "sgd: a group has no parameters");
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

TEST_CASE("moments without gradients decay to 0, past subnormal numbers", "[nn]") {
  const auto check = [](const char* name, Optimizer&& optimizer) {
    CAPTURE(name);
    bool subnormal = false;
    for (int step = 0; step < 7500; ++step) {
      optimizer.step({full({3}, step == 0 ? 1 : 0)});
      for (const Moments& each : optimizer.moments())
        for (const Tensor& moment : each.values)
          subnormal |= std::fpclassify(moment.data()[2]) == FP_SUBNORMAL;
    }
    CHECK_FALSE(subnormal);
    for (const Moments& each : optimizer.moments())
      for (const Tensor& moment : each.values) CHECK(moment.data()[2] == 0);
  };
  const std::vector<Parameter> w{Parameter(ones({3}))};
  check("Adam", Adam(w, {.beta1 = 0.9, .beta2 = 0.8}));
  check("Sgd", Sgd(w, {.momentum = 0.9}));
  check("RmsProp", RmsProp(w, {.alpha = 0.8, .momentum = 0.9}));
  check("Adadelta", Adadelta(w, {.rho = 0.8}));
  check("Lion", Lion(w, {.beta2 = 0.9}));
}

TEST_CASE("a mean square that is subnormal still counts beside an epsilon of 0", "[nn]") {
  const real tiny = std::sqrt(std::numeric_limits<real>::min()) / 4;
  Parameter w(ones({1}));
  Adam adam({w}, {.learning_rate = 0.25, .epsilon = 0});
  for (int step = 0; step < 2; ++step) adam.step({full({1}, tiny)});
  CHECK(w.value().item() == Approx(0.5).epsilon(1e-3));
}

TEST_CASE("moments keep NaN", "[nn]") {
  Adam adam({Parameter(ones({1}))});
  adam.step({full({1}, std::nan(""))});
  for (const Tensor& moment : adam.moments()[0].values) CHECK(std::isnan(moment.item()));
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
    const auto left_by_step = [&](const Shape& shape) {
      Parameter w(ones(shape));
      AdamW({w}, {.learning_rate = 0.1, .weight_decay = 0.5, .matrices_only = only})
          .step({zeros(shape)});
      return w.value().data()[0];
    };
    for (const Shape& matrix : {Shape{2, 2}, Shape{4, 3, 1, 1}, Shape{4, 1, 3, 3}, Shape{1, 2, 3}})
      CHECK(left_by_step(matrix) == Approx(0.95));
    for (const Shape& vector : {Shape{2}, Shape{4, 1, 1}, Shape{4, 1, 1, 1}, Shape{1, 4}, Shape{}})
      CHECK(left_by_step(vector) == Approx(only ? 1 : 0.95));
  }
}

TEST_CASE("the vectors of layers are not decayed as matrices", "[nn]") {
  Random random(1);
  const Conv2d conv(3, 4, 3, random, {.weight_norm = true});
  const Norm norm("group:groups=2", 4, Channels::second);
  for (const Fields& layer : {fields(conv), fields(norm)})
    for (const auto& [name, slot] : layer.parameters()) {
      CAPTURE(name);
      Parameter w = slot;
      w.set(ones(w.shape()));
      AdamW({w}, {.learning_rate = 0.1, .weight_decay = 0.5, .matrices_only = true})
          .step({zeros(w.shape())});
      CHECK(w.value().data()[0] == Approx(w.shape().size() > 4 ? 0.95 : 1));
    }
}
