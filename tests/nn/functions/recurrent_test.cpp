#include "tapegrad/nn/functions/recurrent.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "support/restore_threads.h"
#include "support/values.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;
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

TEST_CASE("sequences are the same for any number of threads", "[recurrent][threads]") {
  const Index steps = 12, batch = 20;  // two tasks, and on many threads as many as share a step
  Random random(1);
  const RestoreThreads after;
  const NormOptions statistics;
  for (const Cell& cell : {Cell::rnn_tanh, Cell::lstm, Cell::gru})
    for (const bool normalized : {false, true})
      for (const bool padded : {false, true}) {
        const Index hidden = cell.gates == 1 ? 240 : 150, gates = cell.gates * hidden;
        const RecurrentState first{random.normal({batch, hidden}),
                                   cell.has_c ? random.normal({batch, hidden}) : Tensor()};
        Tensors in{random.normal({steps, batch, gates}), random.normal({hidden, gates}) * 0.05,
                   first.h};
        if (normalized)
          for (int i = 0; i < 2; ++i) in.push_back(random.normal({gates}));
        Indices lengths;
        if (padded) {
          lengths = Indices::uninitialized({batch});
          for (Index b = 0; b < batch; ++b) lengths.mutable_data()[b] = 1 + b % steps;
        }
        const auto all = [&](int count) {
          set_threads(count);
          const Tape tape;
          Tensors x;
          for (const Tensor& each : in) x.push_back(watch(each));
          RecurrentNorms norms;
          if (normalized) norms.product = {.statistics = statistics, .gain = x[3], .bias = x[4]};
          const Tensor y = recurrent(cell, x[0], x[1], {x[2], first.c}, norms, lengths).outputs;
          Tensors found = grad(sum(square(y)), x);
          found.push_back(y);
          return found;
        };
        INFO(cell.name << ", " << normalized << padded);
        const Tensors one = all(1);
        for (const int count : {2, 3, 4, 16}) {
          const Tensors several = all(count);
          for (std::size_t i = 0; i < one.size(); ++i) CHECK(same_bits(several[i], one[i]));
        }
      }
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
