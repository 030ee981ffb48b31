#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tapegrad/core/random.h"
#include "tapegrad/nn/gradients.h"
#include "tapegrad/ops/attention.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/loss.h"
#include "tapegrad/ops/reduce.h"
#include "tapegrad/ops/softmax.h"

using namespace tapegrad;

namespace {

constexpr real infinity = std::numeric_limits<real>::infinity();
constexpr double precision = sizeof(real) == 8 ? 1e-12 : 2e-6;

double distance(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item(); }

// Value and gradient of f at x.
std::vector<Tensor> both_of(const Function& f, const Tensor& x) {
  const Tape tape;
  const Tensor leaf = watch(x), y = f({leaf});
  return {detach(y), grad(sum(y * cos(arange(y.size()).view(y.shape()))), leaf)};
}

}  // namespace

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
        CHECK(distance(near[0], far[0]) < precision);
        CHECK(distance(near[1], far[1]) < precision);
      }
}

TEST_CASE("equal logits are equally likely, however large", "[ops]") {
  for (const double size : {0.0, 1e3, 1e5, 1e7, 1e20, 1e38})
    for (const double sign : {1.0, -1.0}) {
      const std::vector<Tensor> found =
          both_of([](const auto& in) { return cross_entropy(in[0], Indices({1}, {3})); },
                  full({1, 10}, sign * size));
      INFO(sign * size);
      CHECK(found[0].item() == Approx(std::log(10.0)).epsilon(precision));
      CHECK(std::abs(sum(found[1]).item()) < precision);
    }
}

TEST_CASE("attention does not feel a common offset of its scores", "[ops]") {
  Random random(2);
  const Tensor q = zeros({1, 3, 4}), k = random.normal({1, 5, 4}), v = random.normal({1, 5, 4});
  const Tensor bias = arange(15).view({1, 1, 3, 5}) * 0.25;  // exact beside the offsets below
  for (const bool readable : {false, true}) {
    const auto gradients = [&](double offset) {
      const Composite choice(readable);
      const Tape tape;
      const std::vector<Tensor> leaves{watch(q), watch(k), watch(v)};
      const Tensor y = attention(leaves[0], leaves[1], leaves[2], {.bias = bias + offset});
      std::vector<Tensor> found = grad(sum(square(y)), leaves);
      found.push_back(detach(y));
      return found;
    };
    const std::vector<Tensor> near = gradients(0);
    for (const double offset : {1e3, -1e5, 1e6}) {
      const std::vector<Tensor> far = gradients(offset);
      for (std::size_t i = 0; i < near.size(); ++i) CHECK(distance(near[i], far[i]) < precision);
    }
  }
}

TEST_CASE("the loss of a binary choice at infinite logits", "[ops]") {
  const auto loss = [](real logit, real target) {
    return binary_cross_entropy_with_logits(Tensor({1}, {logit}), Tensor({1}, {target})).item();
  };
  CHECK(loss(infinity, 0.25) == infinity);
  CHECK(loss(-infinity, 0.25) == infinity);
  CHECK(loss(infinity, 0) == infinity);
  CHECK(loss(100, 1) == Approx(0).margin(1e-30));
  CHECK(loss(-3, 0.25) == Approx(std::log1p(std::exp(-3.0)) + 0.75));
  for (const real logit : {-2.0, 0.0, 2.0}) {
    const std::vector<Tensor> found = both_of(
        [](const auto& in) { return binary_cross_entropy_with_logits(in[0], full({1}, 0.25)); },
        full({1}, logit));
    CHECK(found[1].item() == Approx(1 / (1 + std::exp(-logit)) - 0.25));
  }
}

TEST_CASE("a variance far from 0 keeps its digits", "[ops]") {
  const Tensor x = Random(3).normal({100000});
  for (const double offset : {1e2, 1e3, 1e4}) {
    const Tensor far = x + offset;  // rounded there: what the variance is to be of
    double mean = 0, moment = 0;
    for (const double value : far.values()) mean += value / 100000;
    for (const double value : far.values()) moment += (value - mean) * (value - mean) / 100000;
    INFO(offset);
    CHECK(std::abs(var(far).item() / moment - 1) < 10 * precision);
    // A column is summed one row after the other.
    CHECK(std::abs(var(reshape(far, {100000, 1}), 0).item() / moment - 1) < 10 * precision);
    const Tensor twice = concat({reshape(far, {100000, 1}), reshape(far, {100000, 1})}, 1);
    CHECK(std::abs(var(twice, 0).values()[1] / moment - 1) < 10 * precision);
  }
}

TEST_CASE("clipping passes on what is not a number, as PyTorch does", "[ops]") {
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
