#include "tapegrad/nn/functions/loss.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "ops/check_same.h"
#include "support/values.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/indices.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/ops/derivatives.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/reduce.h"
#include "tapegrad/ops/softmax.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

constexpr double loss_precision = sizeof(real) == 8 ? 1e-12 : 2e-6;

// The gradient of a scalar function, and the gradient of its sum: first and second derivatives.
struct Slopes {
  Tensor first, second;
};
Slopes slopes(const std::function<Tensor(const Tensor&)>& f, const Tensor& at) {
  const Tape tape;
  const Tensor x = watch(at);
  const Tensor first = grad(f(x), x, {.record = true});
  return {detach(first), grad(sum(first + 0.0 * x), x)};  // on the tape even where constant
}

}  // namespace

TEST_CASE("huber is smooth at 0 and keeps its slope at the bounds and beyond", "[ops]") {
  const Tensor x({6}, {0, 1, -1, 3, -3, infinity});
  const Slopes found = slopes([](const Tensor& at) { return 6.0 * huber(at, zeros({6})); }, x);
  CHECK(is(found.first, {0, 1, -1, 1, -1, 1}));
  CHECK(is(found.second, {1, 1, 1, 0, 0, 0}));
  CHECK(huber(Tensor(3.0), Tensor(0.0), {.delta = 2}).item() == 4);
  CHECK(huber(Tensor(infinity), Tensor(0.0)).item() == infinity);
  CHECK(std::isnan(huber(Tensor(no_number), Tensor(0.0)).item()));
  CHECK_THROWS_WITH(huber(zeros({2}), zeros({3})),
                    Catch::StartsWith("huber: shapes differ: (2) and (3) ["));
  CHECK_THROWS_WITH(huber(zeros({2}), zeros({2}), {.delta = 0}),
                    Contains("huber: delta must be positive: 0"));
}

TEST_CASE("hinge is 0 from the margin on", "[ops]") {
  const Tensor x({4}, {2, 1, 0.5, -3}), target = ones({4});
  CHECK(hinge(x, target).item() == Approx(4.5 / 4));
  const Slopes found = slopes([&](const Tensor& at) { return 4.0 * hinge(at, target); }, x);
  CHECK(is(found.first, {0, 0, -1, -1}));
  CHECK_THROWS_WITH(hinge(zeros({2}), zeros({2, 1})),
                    Catch::StartsWith("hinge: shapes differ: (2) and (2, 1) ["));
}

TEST_CASE("a probability of 0 adds an exact 0 to the divergence", "[ops]") {
  const Tensor p({1, 3}, {0, 0.5, 0.5}), log_q({1, 3}, {-infinity, -1, -2});
  CHECK(kl_divergence(log_q, p).item() == Approx(std::log(0.5) + 1.5));
  CHECK(kl_divergence(log(Tensor({2}, {0.25, 0.75})), Tensor({2}, {0.25, 0.75})).item() ==
        Approx(0).margin(1e-6));
  const Slopes to_q = slopes([&](const Tensor& at) { return kl_divergence(at, p); }, log_q);
  CHECK(is(to_q.first, {0, -0.5, -0.5}));
  const Slopes to_p = slopes([&](const Tensor& at) { return kl_divergence(log_q, at); }, p);
  CHECK(to_p.first.data()[0] == 0);
  CHECK(to_p.first.data()[1] == Approx(std::log(0.5) + 2));
  CHECK(to_p.second.data()[0] == 0);
  CHECK(to_p.second.data()[1] == Approx(2));
  CHECK(kl_divergence(Tensor({3}, {-1, -1, -1}), Tensor({3}, {1, 0, 0})).item() == 1);
  CHECK(kl_divergence(zeros({2, 2, 3}), full({2, 2, 3}, 1.0 / 3)).item() ==
        Approx(-std::log(3.0)));  // a mean over all rows
  CHECK_THROWS_WITH(kl_divergence(Tensor(0.0), Tensor(1.0)), Contains("kl_divergence: needs"));
  CHECK_THROWS_WITH(kl_divergence(zeros({2}), zeros({3})),
                    Catch::StartsWith("kl_divergence: shapes differ: (2) and (3) ["));
}

TEST_CASE("equal logits are equally likely, however large", "[ops]") {
  for (const double size : {0.0, 1e3, 1e5, 1e7, 1e20, 1e38})
    for (const double sign : {1.0, -1.0}) {
      const std::vector<Tensor> found =
          both_of([](const auto& in) { return cross_entropy(in[0], Indices({1}, {3})); },
                  full({1, 10}, sign * size));
      INFO(sign * size);
      CHECK(found[0].item() == Approx(std::log(10.0)).epsilon(loss_precision));
      CHECK(std::abs(sum(found[1]).item()) < loss_precision);
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

TEST_CASE("what has no weight costs nothing, even where it is impossible", "[ops]") {
  const auto check = [](const Function& f, const Tensor& x, double value,
                        const std::vector<double>& gradient) {
    const Tape tape;
    const Tensor leaf = watch(x), y = f({leaf});
    CHECK(y.item() == Approx(value).margin(loss_precision));
    for (const bool recorded : {true, false}) {
      const Tensor found = grad(y, leaf, {.record = recorded});
      INFO(to_string(found));
      for (std::size_t i = 0; i < gradient.size(); ++i)
        CHECK(found.values()[i] == Approx(gradient[i]).margin(loss_precision));
    }
  };
  const Tensor sure({2}, {-infinity, infinity}), target({2}, {0, 1});
  check([&](const auto& in) { return binary_cross_entropy_with_logits(in[0], target); }, sure, 0,
        {0, 0});
  check(
      [&](const auto& in) {
        return binary_cross_entropy_with_logits(in[0], target, {.positive_weight = 3.0});
      },
      sure, 0, {0, 0});
  check([&](const auto& in) { return cross_entropy(in[0], target); }, Tensor({2}, {-infinity, 0}),
        0, {0, 0});
  // Two classes are alike, and one is masked and has weight 0.
  const Tensor logits({1, 3}, {-infinity, 0, 0}), weight({3}, {0, 1, 1});
  const double share = 0.2 / 3, log_2 = std::log(2.0);
  check(
      [&](const auto& in) {
        return cross_entropy(in[0], Indices({1}, {1}), {.label_smoothing = 0.2, .weight = weight});
      },
      logits, (0.8 + 2 * share) * log_2, {0, -0.4, 0.4});
  check(
      [&](const auto& in) {
        return cross_entropy(
            in[0], Indices({1}, {0}),
            {.label_smoothing = 0.2, .weight = weight, .reduction = Reduction::sum});
      },
      logits, 2 * share * log_2, {0, 0, 0});
  check(
      [&](const auto& in) {
        return nll(in[0], Indices({2}, {0, 1}), {.weight = weight});
      },
      Tensor({2, 3}, {-infinity, 0, 0, -2, -3, -4}), 3, {0, 0, 0, 0, -1, 0});
}

TEST_CASE("targets that are no probabilities are found where wrong values are looked for",
          "[ops]") {
  const Tensor x({1, 2}, std::vector<real>{1, 2});
  const auto message = [](const std::function<Tensor()>& loss) -> std::string {
    CHECK_NOTHROW(loss());  // without such a tape
    const Tape tape({.check_finite = true});
    try {
      loss();
    } catch (const ArgumentError& error) {
      return error.what();
    }
    return "";
  };
  const auto target = [](real a, real b) { return Tensor({1, 2}, std::vector<real>{a, b}); };
  for (const auto& [p, why] : std::vector<std::pair<Tensor, std::string>>{
           {target(0.25, 0.75), ""},
           {target(1, 0), ""},
           {target(1, 1), ": the probabilities in a row of the targets sum to 2, not to 1"},
           {target(3, 0), ": a target lies outside [0, 1]: 3"},
           {target(no_number, 0), ": a target lies outside [0, 1]: nan"}}) {
    const std::string entropy = message([&, p = p] { return cross_entropy(x, p); }),
                      divergence = message([&, p = p] { return kl_divergence(log_softmax(x), p); });
    CHECK(entropy.empty() == why.empty());
    CHECK(divergence.empty() == why.empty());
    if (why.empty()) continue;
    CHECK_THAT(entropy, Catch::StartsWith("cross_entropy" + why));
    CHECK_THAT(divergence, Catch::StartsWith("kl_divergence" + why));
  }
  CHECK_THAT(message([&] { return kl_divergence(softmax(x), log_softmax(x)); }),
             Contains("kl_divergence: a target lies outside [0, 1]: -1.3"));
  CHECK(message([&] { return binary_cross_entropy_with_logits(x, target(0.5, 1)); }).empty());
  CHECK_THAT(message([&] { return binary_cross_entropy_with_logits(x, target(0.5, 5)); }),
             Contains("binary_cross_entropy_with_logits: a target lies outside [0, 1]: 5"));
}

TEST_CASE("nothing counts in a class of weight 0 and in ignored rows", "[ops]") {
  const Tensor logits({2, 2}, {1, -1, 3, 0});
  const double of_second = std::log1p(std::exp(-3.0));
  CHECK(cross_entropy(logits, Indices({2}, {1, 0}), {.weight = Tensor({2}, {2, 0})}).item() ==
        Approx(of_second));
  CHECK(
      cross_entropy(logits, Indices({2}, {9, 0}), {.ignore_index = 9, .reduction = Reduction::sum})
          .item() == Approx(of_second));
  const std::string refused =
      ": all 2 labels are the ignored one, 9, and their mean would be 0 / 0; leave out such "
      "batches, or take the sum";
  CHECK_THROWS_WITH(cross_entropy(logits, Indices({2}, {9, 9}), {.ignore_index = 9}),
                    Contains("cross_entropy" + refused));
  CHECK_THROWS_WITH(nll(logits, Indices({2}, {9, 9}), {.ignore_index = 9}),
                    Contains("nll" + refused));
  CHECK(
      cross_entropy(logits, Indices({2}, {9, 9}), {.ignore_index = 9, .reduction = Reduction::sum})
          .item() == 0);
  CHECK_THROWS_WITH(cross_entropy(logits, Indices({2}, {0, 0}), {.weight = ones({3})}),
                    Catch::StartsWith("cross_entropy: logits (2, 2) need one weight a class: (3)"));
  CHECK_THROWS_WITH(nll(logits, Indices({3}, {0, 0, 0})),
                    Catch::StartsWith("nll: logits (2, 2) need one label a row: labels (3) ["));
  CHECK_THROWS_WITH(
      binary_cross_entropy_with_logits(logits, logits, {.positive_weight = ones({2, 2, 2})}),
      Contains("the weights of positives do not broadcast to the logits (2, 2): (2, 2, 2)"));
}

TEST_CASE("the gradient of a normal likelihood passes the least variance", "[ops]") {
  // torch.nn.functional.gaussian_nll_loss(torch.zeros(1), torch.ones(1), v, eps=0.5) and its
  // gradient at v = 0.25
  const std::vector<Tensor> found = both_of(
      [](const auto& in) { return gaussian_nll(zeros({1}), ones({1}), in[0], {.epsilon = 0.5}); },
      full({1}, 0.25));
  CHECK(found[0].item() == Approx(0.6534264));
  CHECK(found[1].item() == Approx(-1));
  const Tensor x({2, 2}, {1, 2, 3, 4});
  CHECK_THROWS_WITH(gaussian_nll(x, x, ones({2})),
                    Contains("needs the shape (2, 2) or 1 along its last axis: (2)"));
  CHECK_THROWS_WITH(gaussian_nll(x, x, -x), Contains("gaussian_nll: a variance is negative: -1"));
  CHECK_THROWS_WITH(gaussian_nll(x, x, x, {.epsilon = 0}), Contains("epsilon must be positive: 0"));
}

TEST_CASE("labels that are numbers are distinguished from probabilities", "[ops]") {
  CHECK_THROWS_WITH(cross_entropy(zeros({4, 2}), zeros({4})),
                    Contains("(4) are not probabilities for logits (4, 2); labels are Indices"));
  CHECK_THROWS_WITH(cross_entropy(zeros({4, 2}), zeros({4, 3})), Contains("shapes differ"));
}
