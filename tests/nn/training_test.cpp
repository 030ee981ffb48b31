#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <numeric>

#include "support/golden.h"
#include "support/restore_threads.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/parallel.h"
#include "tapegrad/core/random.h"
#include "tapegrad/models/conv_net.h"
#include "tapegrad/models/mlp.h"
#include "tapegrad/nn/layers/init.h"
#include "tapegrad/nn/optimizers/ema.h"
#include "tapegrad/nn/optimizers/gradients.h"
#include "tapegrad/nn/optimizers/optimizer.h"
#include "tapegrad/nn/optimizers/schedule.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/loss.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"

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

TEST_CASE("schedules follow their formulas", "[nn]") {
  const Schedule warm = warmup_inverse_sqrt(2, 10, 1);
  CHECK(warm(0) == Approx(1));
  CHECK(warm(5) == Approx(1.5));
  CHECK(warm(10) == Approx(2));
  CHECK(warm(40) == Approx(1));
  const Schedule wave = cosine(1, 110, 0.2, 10);
  CHECK(wave(0) == Approx(0));
  CHECK(wave(10) == Approx(1));
  CHECK(wave(60) == Approx(0.6));
  CHECK(wave(110) == Approx(0.2));
  CHECK(wave(1000) == Approx(0.2));
  CHECK(step_decay(1, 10, 0.5)(19) == Approx(0.5));
  CHECK(step_decay(1, 10, 0.5)(20) == Approx(0.25));
  CHECK(exponential(3, 0.9)(2) == Approx(2.43));
  CHECK(constant(3)(99) == 3);
  CHECK_THROWS_AS(cosine(1, 5, 0, 5), ArgumentError);
  CHECK_THROWS_AS(step_decay(1, 0), ArgumentError);
}

TEST_CASE("clipping by common norm, by own norm and by value", "[nn]") {
  const std::vector<Tensor> gradients{Tensor({2}, {3, 0}), Tensor({1}, {4})};
  std::vector<Tensor> common = gradients, own = gradients, value = gradients;
  CHECK(clip_by_global_norm(common, 2.5) == Approx(5));
  CHECK(common[0].data()[0] == Approx(1.5));
  CHECK(common[1].data()[0] == Approx(2));
  CHECK(clip_by_global_norm(common, 10) == Approx(2.5));
  CHECK(common[1].data()[0] == Approx(2));
  clip_by_norm(own, 3.5);
  CHECK(own[0].data()[0] == 3);
  CHECK(own[1].data()[0] == Approx(3.5));
  clip_by_value(value, 2);
  CHECK(value[0].data()[0] == 2);
  CHECK(value[0].data()[1] == 0);
  CHECK_THROWS_AS(clip_by_value(value, 0), ArgumentError);
  std::vector<Tensor> total;
  accumulate(total, gradients);
  accumulate(total, gradients);
  CHECK(total[1].data()[0] == 8);
}

TEST_CASE("initial values have the spread of their formulas", "[nn]") {
  Random random(7);
  const Shape shape{300, 500};
  CHECK(max(abs(xavier_uniform(shape, random))).item() ==
        Approx(std::sqrt(6.0 / 800)).epsilon(1e-3));
  CHECK(stddev(xavier_normal(shape, random)).item() == Approx(std::sqrt(2.0 / 800)).epsilon(0.02));
  CHECK(max(abs(kaiming_uniform(shape, random))).item() ==
        Approx(std::sqrt(6.0 / 300)).epsilon(1e-3));
  CHECK(stddev(kaiming_normal(shape, random)).item() == Approx(std::sqrt(2.0 / 300)).epsilon(0.02));
  CHECK(max(abs(fan_in_uniform(shape, 25, random))).item() == Approx(0.2).epsilon(1e-3));
  CHECK(fans({20, 3, 5, 5}).in == 75);
  CHECK(fans({20, 3, 5, 5}).out == 500);
  CHECK(fans({20, 3, 5}).in == 15);
  CHECK(fans({20, 3, 5}).out == 100);
  CHECK(stddev(xavier_normal({300, 100, 5}, random)).item() ==
        Approx(std::sqrt(2.0 / 2000)).epsilon(0.02));
  CHECK_THROWS_AS(fans({3}), ShapeError);
  CHECK_THROWS_AS(fans({3, 3, 3, 3, 3}), ShapeError);
}

TEST_CASE("each orthogonal block is orthogonal", "[nn]") {
  Random random(7);
  const double margin = sizeof(real) == 8 ? 1e-12 : 1e-5;
  const Tensor w = orthogonal({8, 16}, random, 2);
  for (int block = 0; block < 2; ++block) {
    Tensor u = Tensor::uninitialized({8, 8});
    for (Index i = 0; i < 64; ++i) u.mutable_data()[i] = w.data()[i / 8 * 16 + block * 8 + i % 8];
    CHECK(max(abs(matmul(u, u, {.a = true}) - eye(8))).item() < margin);
  }
  const Tensor wide = orthogonal({3, 7}, random), tall = orthogonal({7, 3}, random);
  CHECK(max(abs(matmul(wide, wide, {.b = true}) - eye(3))).item() < margin);
  CHECK(max(abs(matmul(tall, tall, {.a = true}) - eye(3))).item() < margin);
  CHECK_THROWS_AS(orthogonal({4, 7}, random, 2), ArgumentError);
}

TEST_CASE("orthogonal matrices are what Gram-Schmidt makes of the draws, on any number of threads",
          "[nn][threads]") {
  const Index size =
      300;  // several blocks and a part of one; the last rows have little of their own
  Random random(7), same(7);
  const Tensor found = orthogonal({size, size}, random);
  std::vector<std::vector<double>> basis;
  double greatest = 0;
  for (Index i = 0; i < size; ++i) {
    const Tensor drawn = same.normal({size});
    std::vector<double> row(drawn.values().begin(), drawn.values().end());
    for (int pass = 0; pass < 2; ++pass)
      for (const auto& other : basis) {
        const double along = std::inner_product(row.begin(), row.end(), other.begin(), 0.0);
        for (Index j = 0; j < size; ++j) row[j] -= along * other[j];
      }
    const double norm = std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0));
    for (double& value : row) value /= norm;
    for (Index j = 0; j < size; ++j)
      greatest = std::max(greatest, std::abs(row[j] - found.data()[j * size + i]));
    basis.push_back(std::move(row));
  }
  CHECK(greatest < (sizeof(real) == 8 ? 1e-12 : 1e-5));
  CHECK(max(abs(matmul(found, found, {.b = true}) - eye(size))).item() <
        (sizeof(real) == 8 ? 1e-14 : 3e-6));

  const RestoreThreads restore;
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    Random again(7);
    CHECK(max(abs(orthogonal({size, size}, again) - found)).item() == 0);
  }
}

TEST_CASE("steps 2 and 50 of a training loop write the same tape and allocate nothing new",
          "[nn][memory]") {
  const auto check = [](const auto& net) {
    Random random(5);
    Adam adam(parameters(net));
    const Tensor images = random.uniform({2, 1, 28, 28});
    std::int32_t nodes = 0;
    std::int64_t before = 0;
    for (int step = 1; step <= 50; ++step) {
      if (step == 50) before = memory_use().allocations;
      const Tape tape;
      const Tensor loss = cross_entropy(net(images, training(random)), Indices({2}, {3, 7}));
      adam.step(grad(loss, adam.parameters()));
      if (step == 2) nodes = tape.size();
      if (step == 50) CHECK(tape.size() == nodes);
    }
    CHECK(memory_use().allocations == before);
  };
  Random random(1);
  const RestoreThreads one;  // on several, which worker takes a tile is chance, and so is its pool
  set_threads(1);
  SECTION("mlp") { check(Mlp({784, 32, 32, 10}, random, {.norm = "layer", .dropout = 0.1})); }
  SECTION("conv_net") { check(ConvNet(random, {.hidden_norm = "layer", .dropout = 0.1})); }
}

TEST_CASE("a plateau lowers the rate", "[nn]") {
  // torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer of rate 1, factor=0.5, patience=1,
  // threshold=0.1, cooldown=1, min_lr=0.2) on the same measures
  Plateau plateau(1, {.factor = 0.5, .patience = 1, .threshold = 0.1, .cooldown = 1, .least = 0.2});
  const double measures[] = {3, 2, 1.9, 1.9, 1.9, 1.9, 1.9, 1.0, 1, 1, 1, 1, 1, 1};
  const double rates[] = {1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2, 0.2, 0.2};
  for (int i = 0; i < 14; ++i) {
    CAPTURE(i);
    CHECK(plateau.next(measures[i]) == Approx(rates[i]));
  }
  CHECK_THROWS_AS(Plateau(1, {.factor = 1}), ArgumentError);
}

TEST_CASE("an exponential average follows the parameters", "[nn]") {
  Parameter w(zeros({2}));
  Ema average({w}, 0.75);
  const Tensor held = average.values()[0];
  w.set(ones({2}));
  average.update();
  CHECK(average.values()[0].data()[1] == Approx(0.25));
  w.set(full({2}, 2));
  average.update();
  CHECK(average.values()[0].data()[0] == Approx(0.75 * 0.25 + 0.5));
  CHECK(held.data()[0] == 0);
  average.swap();
  CHECK(w.value().data()[0] == Approx(0.6875));
  CHECK(average.values()[0].data()[0] == 2);
  average.swap();
  CHECK(w.value().data()[0] == 2);
  CHECK_THROWS_AS(Ema({w}, 1), ArgumentError);
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

TEST_CASE("schedules and clippings are PyTorch's", "[nn]") {
  const auto check = [](const char* row, const Schedule& schedule) {
    INFO(row);
    const Tensor expected = golden("training.json", row).value;
    for (Index step = 0; step < expected.size(); ++step)
      CHECK(schedule(step) == Approx(double{expected.data()[step]}).epsilon(1e-6));
  };
  check("constant", constant(0.5));
  check("cosine", cosine(0.5, 20, 0.1));
  check("step", step_decay(0.5, 7, 0.3));
  check("exponential", exponential(0.5, 0.9));

  const Golden by_norm = golden("training.json", "clip_by_global_norm");
  std::vector<Tensor> gradients = by_norm.inputs;
  CHECK(clip_by_global_norm(gradients, 1.5) == Approx(double{by_norm.value.item()}));
  // PyTorch divides by the norm + 1e-6
  for (int i : {0, 1}) CHECK(relative_error(gradients[i], by_norm.gradients[i]) < 1e-5);
  const Golden by_value = golden("training.json", "clip_by_value");
  gradients = by_value.inputs;
  clip_by_value(gradients, 0.3);
  for (int i : {0, 1})
    CHECK(relative_error(gradients[i], by_value.gradients[i]) < golden_tolerance);
}

TEST_CASE("clipping passes on what is not a number, as PyTorch does", "[ops]") {
  constexpr real infinity = std::numeric_limits<real>::infinity();
  const real nan = std::numeric_limits<real>::quiet_NaN();
  for (const real bad : {nan, infinity}) {
    std::vector<Tensor> gradients{Tensor({2}, {bad, 1}), full({3}, 1000)};
    clip_by_global_norm(gradients, 1);
    CHECK(std::isnan(gradients[0].values()[0]));
    // nan: everything; inf: the others are as nothing beside it
    if (std::isnan(bad)) CHECK(std::isnan(gradients[1].values()[0]));
    if (!std::isnan(bad)) CHECK(gradients[1].values()[0] == 0);
    std::vector<Tensor> alone{Tensor({2}, {bad, 1})};
    clip_by_norm(alone, 1);
    CHECK(std::isnan(alone[0].values()[0]));
  }
}
