#include "tapegrad/ops/recurrent.h"

#include <catch2/catch.hpp>

#include "tapegrad/core/error.h"

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
          "a gru with the reset gate on the state takes no normalization");
  refused(Cell::rnn_tanh, {h, {}}, {.product = {.statistics = statistics, .parts = {2, 2}}},
          "the parts of the product's normalization add up to 4, not to 3 channels");
  refused(Cell::rnn_tanh, {h, {}}, {.inputs = {.gain = zeros({3})}},
          "a gain of the inputs needs a normalization before it");
  CHECK_THROWS_WITH(recurrent(Cell::lstm, x, w, {h, h}), Contains("(T, B, 4 hidden)"));
  CHECK_THROWS_WITH(recurrent(Cell::gru, x, w, {h, {}}, {}, Indices({2}, {4, 5})),
                    Contains("recurrent: lengths"));
}
