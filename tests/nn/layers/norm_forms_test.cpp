// Forms of normalization with the value x, in layers and models.

#include <catch2/catch.hpp>

#include "support/golden.h"
#include "tapegrad/models/conv_net.h"
#include "tapegrad/models/mlp.h"
#include "tapegrad/models/transformer.h"
#include "tapegrad/nn/layers/recurrent.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/derivatives.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

constexpr double form_precision = sizeof(real) == 8 ? 1e-12 : 1e-4;

/// A net from the same random numbers with each norm, applied to the same input.
using NetWithNorm = std::function<Tensor(const NormSpec& norm, const Tensor& x)>;

void check_identity(const NetWithNorm& net, const Tensor& x) {
  const auto gradient = [&](const char* norm) {
    return vjp([&](const auto& in) { return net(norm, in[0]); }, {x},
               Random(3).normal(net(norm, x).shape()))[0];
  };
  for (const char* form :
       {"layer_simple:forward=identity", "detach_mean:forward=identity,factor=1"}) {
    CAPTURE(form);
    CHECK(relative_error(net(form, x), net("none", x)) < form_precision);
    CHECK(relative_error(gradient(form), gradient("none")) > 1e-3);
    const Tensor fused = gradient(form);
    const Composite composite;
    CHECK(relative_error(gradient(form), fused) < 10 * form_precision);
  }
  CHECK(relative_error(gradient("layer_simple:factor=1"), gradient("layer_simple")) > 1e-3);
}

}  // namespace

TEST_CASE("with forward=identity, nets compute what they compute without norms", "[nn][norm]") {
  SECTION("perceptron") {
    check_identity(
        [](const NormSpec& norm, const Tensor& x) {
          Random random(1);
          return Mlp({6, 16, 16, 3}, random, {.norm = norm})(x);
        },
        Random(2).normal({4, 6}));
  }
  SECTION("convolutions") {
    check_identity(
        [](const NormSpec& norm, const Tensor& x) {
          Random random(1);
          return ConvNet(random, {.norm = norm})(x);
        },
        Random(2).uniform({2, 1, 28, 28}));
  }
  for (const Cell& cell : {Cell::rnn_tanh, Cell::lstm, Cell::gru}) DYNAMIC_SECTION(cell.name) {
      check_identity(
          [&](const NormSpec& norm, const Tensor& x) {
            Random random(1);
            return Recurrent(cell, 6, 5, random, {.norm = norm})(x).outputs;
          },
          Random(2).normal({3, 4, 6}));
    }
  SECTION("Transformer") {
    check_identity(
        [](const NormSpec& norm, const Tensor& x) {
          Random random(1);
          return TransformerStack(random,
                                  {.layers = 2, .heads = 2, .channels = 8, .norm = norm})(x);
        },
        Random(2).normal({2, 5, 8}));
  }
}
