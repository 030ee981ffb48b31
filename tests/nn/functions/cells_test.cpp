#include "tapegrad/nn/functions/cells.h"

#include <catch2/catch.hpp>

#include "support/golden.h"
#include "tapegrad/core/random.h"
#include "tapegrad/nn/functions/recurrent.h"
#include "tapegrad/ops/derivatives.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/layout.h"

using namespace tapegrad;
using namespace tapegrad::testing;

TEST_CASE("a cell without its kernel is its step, with the same result", "[recurrent]") {
  constexpr double precision = sizeof(real) == 8 ? 1e-12 : 1e-5;
  const Index T = 3, B = 2, H = 5;
  Random random(1);
  for (const std::string& name : cell_names()) {
    const Cell& cell = Cell::named(name);
    if (cell.kernel == nullptr) continue;
    Cell stepwise = cell;
    stepwise.kernel = nullptr;
    CHECK(stepwise != cell);
    const Tensor inputs = random.normal({T, B, cell.gates * H});
    const Tensor weight = random.normal({H, cell.gates * H}, 0, 0.3);
    const RecurrentState first{random.normal({B, H}),
                               cell.has_c ? random.normal({B, H}) : Tensor()};
    const auto outputs = [&](const Cell& which) {
      return vjp(
          [&](const auto& in) {
            return recurrent(which, in[0], in[1], {in[2], first.c}).outputs;
          },
          {inputs, weight, first.h}, ones({T, B, H}));
    };
    const auto fused = outputs(cell), expected = outputs(stepwise);
    for (std::size_t i = 0; i < fused.size(); ++i)
      CHECK(relative_error(fused[i], expected[i]) < precision);
  }
}

TEST_CASE("a changed copy of a cell computes its own step", "[recurrent]") {
  Random random(1);
  const Tensor inputs = random.normal({3, 2, 4}), weight = random.normal({4, 4});
  const RecurrentState first{random.normal({2, 4}), {}};
  Cell copy = Cell::rnn_tanh;
  CHECK(copy.fused());
  copy.step = Cell::rnn_relu.step;
  CHECK_FALSE(copy.fused());
  const auto outputs = [&](const Cell& cell) {
    return recurrent(cell, inputs, weight, first).outputs;
  };
  CHECK(relative_error(outputs(copy), outputs(Cell::rnn_relu)) < 1e-5);
  CHECK(relative_error(outputs(copy), outputs(Cell::rnn_tanh)) > 0.1);
}

TEST_CASE("a cell is found by its name", "[recurrent]") {
  for (const std::string& name : cell_names()) CHECK(Cell::named(name).name == name);
  CHECK(Cell::named("rnn") == Cell::rnn_tanh);
  CHECK_THROWS_WITH(
      Cell::named("elman"),
      "cell: unknown cell elman; available: rnn, rnn_relu, lstm, gru, gru_reset_first");
}

TEST_CASE("a detached state has no history", "[recurrent]") {
  const Tape tape;
  const RecurrentState state{watch(ones({1, 2})), {}};
  CHECK(detach(state).h.node() != state.h.node());
  CHECK_FALSE(detach(state).c.defined());
}
