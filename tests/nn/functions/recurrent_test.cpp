#include "tapegrad/nn/functions/recurrent.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tapegrad/core/error.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using Catch::Contains;

TEST_CASE("a recurrent operation refuses what does not fit its cell", "[recurrent]") {
  const Tensor h = zeros({2, 3}), x = zeros({4, 2, 9}), w = zeros({3, 9});
  const auto refused = [&](const Cell& cell, const RecurrentState& first,
                           const RecurrentNorms& norms, const std::string& message) {
    const Tensor inputs = zeros({4, 2, cell.gates * 3}), weight = zeros({3, cell.gates * 3});
    CHECK_THROWS_WITH(recurrent(cell, inputs, weight, first, norms), Contains(message));
  };
  const NormOptions statistics;
  refused(Cell::lstm, {h, {}}, {}, "the first c of the lstm is undefined");
  refused(Cell::lstm, {h, zeros({2, 4})}, {}, "the first c must be (B, hidden) = (2, 3): (2, 4)");
  refused(Cell::gru, {zeros({1, 3}), {}}, {}, "the first h must be (B, hidden) = (2, 3): (1, 3)");
  refused(Cell::gru, {h, {}}, {.product = {.statistics = statistics, .over_sum = true}},
          "a gru has no sum of inputs and product to normalize");
  refused(Cell::gru_reset_first, {h, {}}, {.product = {.statistics = statistics}},
          "a gru_reset_first takes no normalization");
  refused(Cell::rnn_tanh, {h, {}}, {.product = {.statistics = statistics, .parts = {2, 2}}},
          "the parts of the product's normalization add up to 4, not to 3 channels");
  refused(Cell::rnn_tanh, {h, {}}, {.inputs = {.gain = zeros({3})}},
          "a gain of the inputs needs a normalization before it");
  CHECK_THROWS_WITH(recurrent(Cell::lstm, x, w, {h, h}), Contains("(T, B, 4 hidden)"));
  CHECK_THROWS_WITH(recurrent(Cell::gru, x, w, {h, {}}, {}, Indices({2}, {4, 5})),
                    Contains("recurrent: lengths"));
}

// Sums of equal terms: each rounding has the same sign, so errors add up.
TEST_CASE("the error of a bias's gradient does not grow with the length of a sequence",
          "[recurrent]") {
  const Index steps = 300'000;
  const Tape tape;
  const Tensor bias = watch(ones({1}));
  const Tensor y = recurrent(Cell::rnn_relu, zeros({steps, 1, 1}), zeros({1, 1}),
                             {zeros({1, 1}), {}}, {.inputs = {.bias = bias}})
                       .outputs;
  const double exact = static_cast<double>(steps) * static_cast<double>(real(0.1));
  constexpr double bound = 50 * std::numeric_limits<real>::epsilon();
  CHECK(std::abs(grad(sum(y * 0.1), bias).item() / exact - 1) < bound);
}
