#include "tapegrad/zoo/handwriting.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "models/nets.h"
#include "support/golden.h"
#include "tapegrad/core/error.h"
#include "tapegrad/nn/optimizers/gradients.h"
#include "tapegrad/nn/optimizers/optimizer.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/reduce.h"
#include "tapegrad/zoo/mixture.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

constexpr double tolerance = sizeof(real) == 8 ? 1e-10 : 1e-4;

HandwritingOptions small(const char* norm = "none") {
  return {.layers = 3, .hidden = 5, .components = 2, .recurrent = {.norm = norm}};
}

// Moves of any size, with the pen lifted or not: (T, B, 3).
Tensor any_moves(Index steps, Index batch, std::uint64_t seed) {
  Random random(seed);
  return concat({random.normal({steps, batch, 2}), random.bernoulli({steps, batch, 1}, 0.3)}, -1);
}

// Two texts of three characters of four.
Tensor some_text() {
  return window_text(Indices({2, 3}, {0, 3, 1, 2, 2, 0}), Indices({2}, {3, 2}), 4);
}

HandwritingSynthesis small_synthesis(std::uint64_t seed, const char* norm = "none") {
  Random random(seed);
  return {4, random, {.net = small(norm), .bumps = 2, .advance = 0.5}};
}

}  // namespace

TEST_CASE("handwriting of the published size has as many weights", "[models]") {
  for (const auto& [norm, count] : {std::pair("none", 3650151), std::pair("layer", 3671751)}) {
    Random random(1);
    const HandwritingSynthesis net(
        57, random,
        {.net = {.hidden = 400, .components = 20, .recurrent = {.norm = norm}}, .bumps = 10});
    CHECK(parameter_count(net) == count);
  }
}

TEST_CASE("a move is predicted from those before", "[models]") {
  const Tensor moves = any_moves(4, 2, 1), before = moves_before(moves);
  CHECK(relative_error(slice(before, 0, 1, 4), slice(moves, 0, 0, 3)) == 0);
  CHECK(relative_error(select(before, 0), Tensor({2, 3}, {0, 0, 1, 0, 0, 1})) == 0);
  Tensor changed = any_moves(4, 2, 1);
  changed.mutable_data()[2 * 2 * 3] += 1;  // at step 2
  const auto differ = [&](const Tensor& a, const Tensor& b) {
    for (Index t = 0; t < 4; ++t)
      CHECK((relative_error(select(a, t), select(b, t)) > 0) == (t > 2));
  };
  for (const char* norm : {"none", "layer"}) {
    Random random(2);
    const HandwritingPredictor net(random, small(norm));
    const HandwritingSynthesis synthesis = small_synthesis(3, norm);
    differ(net(before).numbers, net(moves_before(changed)).numbers);
    differ(synthesis(before, some_text()).numbers,
           synthesis(moves_before(changed), some_text()).numbers);
  }
}

TEST_CASE("all layers of handwriting read the moves, and the output reads all", "[models]") {
  Random random(4);
  const HandwritingPredictor net(random, small());
  const Tensor x = moves_before(any_moves(3, 2, 5));
  const Tensor h1 = net.layers[0](x).outputs;
  const Tensor h2 = net.layers[1](concat({x, h1}, -1)).outputs;
  const Tensor h3 = net.layers[2](concat({x, h2}, -1)).outputs;
  CHECK(relative_error(net(x).numbers, net.output(concat({h1, h2, h3}, -1))) < tolerance);
}

TEST_CASE("synthesis is its equations, step by step", "[models]") {
  const HandwritingSynthesis net = small_synthesis(6, "layer");
  const Tensor before = moves_before(any_moves(4, 2, 7)), text = some_text();
  const auto found = net(before, text);
  std::vector<RecurrentState> states;
  for (const RecurrentLayer& layer : net.layers) states.push_back(layer.first(2));
  Tensor w = zeros({2, 4}), place = net.window.first(2);
  for (Index t = 0; t < 4; ++t) {
    const Tensor x = select(before, t);
    states[0] = net.layers[0].step(concat({x, w}, 1), states[0]);
    const auto window = net.window(states[0].h, place, text);
    w = window.window;
    place = window.place;
    for (std::size_t i = 1; i < 3; ++i)
      states[i] = net.layers[i].step(concat({x, w, states[i - 1].h}, 1), states[i]);
    const Tensor y = net.output(concat({states[0].h, states[1].h, states[2].h}, 1));
    CHECK(relative_error(select(found.numbers, t), y) < tolerance);
    CHECK(relative_error(select(found.weights, t), window.weight) < tolerance);
  }
}

TEST_CASE("handwriting goes on from where it was", "[models]") {
  Random random(8);
  const HandwritingPredictor net(random, small("layer"));
  const HandwritingSynthesis synthesis = small_synthesis(9);
  const Tensor before = moves_before(any_moves(5, 2, 10)), text = some_text();
  const Tensor first = slice(before, 0, 0, 2), rest = slice(before, 0, 2, 5);
  const auto plain = net(first);
  CHECK(relative_error(concat({plain.numbers, net(rest, plain.last).numbers}),
                       net(before).numbers) < tolerance);
  const auto written = synthesis(first, text);
  CHECK(relative_error(concat({written.numbers, synthesis(rest, text, written.last).numbers}),
                       synthesis(before, text).numbers) < tolerance);
}

TEST_CASE("samples come from the densities that the net predicts for them", "[models]") {
  const auto check = [](const Tensor& numbers, const Tensor& moves, Random random) {
    for (Index t = 0; t < moves.shape()[0]; ++t)
      CHECK(relative_error(sample_mixture(slice(numbers, 0, t, t + 1), random, 0.5),
                           slice(moves, 0, t, t + 1)) < 10 * tolerance);
  };
  Random random(11);
  const HandwritingPredictor net(random, small());
  Random draws(12);
  const Tensor moves = net.sample(6, 2, draws, 0.5);
  REQUIRE(moves.shape() == Shape{6, 2, 3});
  check(net(moves_before(moves)).numbers, moves, Random(12));
  const HandwritingSynthesis synthesis = small_synthesis(13);
  const Tensor text = slice(some_text(), 0, 0, 1);
  draws = Random(14);
  const auto written = synthesis.write(text, 6, draws, 0.5);
  check(synthesis(moves_before(written.moves), text).numbers, written.moves, Random(14));
}

TEST_CASE("a text is written until the window is behind it", "[models]") {
  const HandwritingSynthesis net = small_synthesis(15);
  // One bump moves on by half a character a step; of the other nothing is seen.
  Parameter weight = net.window.numbers.weight, bias = net.window.numbers.bias;
  weight.set(zeros(weight.shape()));
  const real half = std::log(real{0.5});
  bias.set(Tensor({6}, {0, -50, 0, 0, half, half}));
  Random random(16);
  const Tensor text = window_text(Indices({1, 3}, {0, 1, 2}), Indices({1}, {3}), 4);
  const auto written = net.write(text, 100, random);
  CHECK(written.lengths.values()[0] == 8);  // at 3.5 both weigh the same, at 4 it is behind
  CHECK(written.moves.shape() == Shape{8, 1, 3});
  CHECK(written.weights.shape() == Shape{8, 1, 4});
  CHECK(net.write(text, 5, random).lengths.values()[0] == 5);
}

TEST_CASE("derivatives of handwriting, with and without layer normalization", "[models]") {
  constexpr double step = sizeof(real) == 8 ? 1e-3 : 1e-2;
  for (const char* norm : {"none", "layer"}) {
    Random random(17);
    const Tensor moves = any_moves(3, 2, 18);
    const HandwritingPredictor net(random, small(norm));
    check_parameters(
        net,
        [&] {
          return mixture_nll(net(moves_before(moves)).numbers, moves,
                             {.reduction = Reduction::none});
        },
        step);
    const HandwritingSynthesis synthesis = small_synthesis(19, norm);
    check_parameters(
        synthesis,
        [&] {
          return mixture_nll(synthesis(moves_before(moves), some_text()).numbers, moves,
                             {.reduction = Reduction::none});
        },
        step);
  }
}

TEST_CASE("a drawing is learned by heart", "[models]") {
  Random random(20);
  const HandwritingPredictor net(random, {.layers = 2, .hidden = 24, .components = 2});
  Adam adam(parameters(net), {.learning_rate = 3e-3});
  const Tensor moves = any_moves(12, 1, 21);
  double loss = 0;
  for (int step = 0; step < 800; ++step) {
    const Tape tape;
    const Tensor nll = mixture_nll(net(moves_before(moves)).numbers, moves);
    loss = nll.item();
    std::vector<Tensor> gradients = grad(nll, adam.parameters());
    clip_by_global_norm(gradients, 1);
    adam.step(gradients);
  }
  // A normal distribution costs 2.84 nats per move, and the pen 0.6.
  CHECK(loss < 3.4 - 3);
}

TEST_CASE("handwriting refuses what does not fit by name", "[models]") {
  Random random(22);
  CHECK_THROWS_AS(HandwritingPredictor(random, {.layers = 0}), ArgumentError);
  CHECK_THROWS_AS(HandwritingPredictor(random, {.components = 0}), ArgumentError);
  CHECK_THROWS_AS(HandwritingSynthesis(0, random), ArgumentError);
  const HandwritingPredictor net(random, small());
  CHECK_THROWS_WITH(net(zeros({4, 2, 2})), Contains("handwriting: needs moves (T, B, 3)"));
  CHECK_THROWS_WITH(net(zeros({4, 2, 3}), {{}}), Contains("each of 3 layers: 1 given"));
  CHECK_THROWS_AS(net.sample(0, 1, random), ArgumentError);
  const HandwritingSynthesis synthesis = small_synthesis(23);
  CHECK_THROWS_AS(synthesis(zeros({4, 3, 3}), some_text()), ShapeError);
  CHECK_THROWS_AS(synthesis.write(some_text(), 0, random), ArgumentError);
}
