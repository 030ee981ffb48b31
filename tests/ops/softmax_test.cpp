#include "tapegrad/ops/softmax.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/check_same.h"
#include "support/values.h"
#include "tapegrad/core/indices.h"
#include "tapegrad/core/random.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/nn/functions/loss.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/derivatives.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

constexpr double softmax_precision = sizeof(real) == 8 ? 1e-12 : 2e-6;

}  // namespace

TEST_CASE("softmax at the extremes", "[ops]") {
  CHECK(softmax(Tensor({3}, {0, -infinity, 0})).values()[1] == 0);
  const Tensor large = softmax(Tensor({2}, {10000, 9999}));
  CHECK(large.values()[0] == Approx(1 / (1 + std::exp(-1.0))));
  CHECK(logsumexp(Tensor({2}, {-infinity, -infinity})).item() == -infinity);
  CHECK(logsumexp(Tensor({2}, {10000, 10000})).item() == Approx(10000 + std::log(2.0)));
  CHECK(std::isnan(softmax(Tensor({2}, {-infinity, -infinity})).values()[0]));
  const Tape tape;
  const Tensor nothing = watch(full({2}, -infinity));
  for (const real each : grad(logsumexp(nothing), nothing).values()) CHECK(std::isnan(each));
}

TEST_CASE("probabilities do not feel a common offset of their logits", "[ops]") {
  const Tensor logits({2, 4}, {0, 1, 2, 3, 5, 5, 5, 5});  // exact beside the offsets below
  const Indices labels({2}, {1, 3});
  const Tensor target = softmax(Random(1).normal({2, 4}));
  const std::vector<Function> functions{
      [](const auto& in) { return softmax(in[0]); },
      [](const auto& in) { return log_softmax(in[0]); },
      [](const auto& in) { return log_softmax(in[0], 0); },
      [&](const auto& in) { return cross_entropy(in[0], labels); },
      [&](const auto& in) { return cross_entropy(in[0], labels, {.label_smoothing = 0.1}); },
      [&](const auto& in) { return cross_entropy(in[0], target); },
      [&](const auto& in) { return kl_divergence(log_softmax(in[0]), target); }};
  for (const bool readable : {false, true})
    for (std::size_t i = 0; i < functions.size(); ++i)
      for (const double offset : {1e3, -1e3, 1e5, -1e5, 4e6}) {
        INFO("function " << i << (readable ? ", composite" : "") << " at " << offset);
        const Composite choice(readable);
        const std::vector<Tensor> near = both_of(functions[i], logits),
                                  far = both_of(functions[i], logits + offset);
        CHECK(distance(near[0], far[0]) < softmax_precision);
        CHECK(distance(near[1], far[1]) < softmax_precision);
      }
}
