#include "tapegrad/zoo/mixture.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>

#include "support/golden.h"
#include "tapegrad/core/error.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

constexpr auto none = Reduction::none, total = Reduction::sum;

const Tensor counted({3, 2}, {1, 0, 1, 1, 0, 1});

// Moves at any place, with the pen lifted or not.
Tensor any_moves(const Shape& leading, Random& random) {
  const int last = leading.rank();
  return concat(
      {random.normal(leading.insert(last, 2)), random.bernoulli(leading.insert(last, 1), 0.5)}, -1);
}

// The numbers of a mixture of one: x, y, log s, log t, r' and e'.
Tensor single(std::vector<real> numbers) {
  numbers.insert(numbers.begin(), 0);  // its weight
  return Tensor({7}, numbers);
}

double mean_of(const Tensor& moves, Index axis) { return mean(select(moves, axis, -1)).item(); }

}  // namespace

TEST_CASE("mixtures agree with torch.distributions", "[nn]") {
  const std::map<std::string, MixtureNllOptions> rows{{"mixture_nll", {}},
                                                      {"mixture_nll_none", {.reduction = none}},
                                                      {"mixture_nll_sum", {.reduction = total}},
                                                      {"mixture_nll_counted", {.counted = counted}},
                                                      {"mixture_nll_limits", {.reduction = none}}};
  for (const auto& row : rows) {
    INFO(row.first);
    const Golden expected = golden("mixture.json", row.first);
    const Function f = [&](const std::vector<Tensor>& in) {
      return mixture_nll(in[0], in[1], row.second);
    };
    CHECK(relative_error(f(expected.inputs), expected.value) < golden_tolerance);
    const auto gradients = vjp(f, expected.inputs, expected.seed);
    for (std::size_t i = 0; i < gradients.size(); ++i)
      CHECK(relative_error(gradients[i], expected.gradients[i]) < golden_tolerance);
  }
}

TEST_CASE("derivatives of a mixture, also of strong correlations and far moves", "[nn]") {
  Random random(1);
  const Tensor plain = random.normal({3, 2, 19}), moves = any_moves({3, 2}, random);
  const Function nll = [&](const std::vector<Tensor>& in) {
    return mixture_nll(in[0], in[1], {.counted = counted});
  };
  // tanh(2.8) 0.999 = 0.992, and a move 50 deviations away against the correlation
  const Tensor strong =
      stack({single({0, 0, 0, 0, real{2.8}, 1}), single({0, 0, 0, 0, real{-2.8}, 1})});
  const Tensor far({2, 3}, {50, -50, 1, 50, 50, 0});
  const Function nll_of_far = [&](const std::vector<Tensor>& in) {
    return mixture_nll(in[0], in[1]) * 1e-6;
  };
  for (const auto& [f, in] : {std::pair(nll, std::vector{plain, moves}),
                              std::pair(nll_of_far, std::vector{strong, far})}) {
    const CheckResult first = check_gradient(f, in);
    INFO(first.message);
    CHECK(first);
    if constexpr (sizeof(real) == 8) {
      const CheckResult second = check_second_gradient(f, in);
      INFO(second.message);
      CHECK(second);
    }
  }
  const double r = 0.999 * std::tanh(2.8);
  CHECK(mixture_nll(strong, far, {.reduction = none}).data()[0] ==
        Approx(std::log(2 * std::numbers::pi) + 0.5 * std::log(1 - r * r) +
               2500 * (2 + 2 * r) / (2 - 2 * r * r) + std::log1p(std::exp(-1.0))));
}

TEST_CASE("the loss is finite for numbers of any size", "[nn]") {
  Random random(2);
  const Tensor moves = any_moves({20}, random) * 300.0;
  const Function nll = [&](const std::vector<Tensor>& in) { return mixture_nll(in[0], in[1]); };
  const std::vector<Tensor> in{random.normal({20, 13}, 0, 1000), moves};
  CHECK(std::isfinite(nll(in).item()));
  for (const Tensor& gradient : vjp(nll, in, ones({})))
    CHECK(sum(isfinite(gradient)).item() == static_cast<real>(gradient.size()));
}

TEST_CASE("the density of moves and pens sums to 1", "[nn]") {
  constexpr Index side = 401;
  constexpr double reach = 20, cell = 2 * reach / (side - 1);
  const Tensor places = (arange(side) - static_cast<double>(side - 1) / 2) * cell;
  const Shape grid{side, side};
  Random random(3);
  for (int i = 0; i < 3; ++i) {
    const Tensor numbers = broadcast_to(random.normal({1, 1, 19}, 0, 0.7), {side, side, 19});
    double mass = 0;
    for (const double pen : {0.0, 1.0}) {
      const Tensor moves = stack({broadcast_to(reshape(places, {side, 1}), grid),
                                  broadcast_to(places, grid), zeros(grid) + pen},
                                 -1);
      mass += sum(exp(-mixture_nll(numbers, moves, {.reduction = none}))).item() * cell * cell;
    }
    CHECK(mass == Approx(1).margin(1e-4));
  }
}

TEST_CASE("equal components are one", "[nn]") {
  Random random(4);
  const Tensor one = random.normal({6, 7}), moves = any_moves({6}, random);
  std::vector<Tensor> parts;
  for (const Tensor& number : split(one, {1, 1, 1, 1, 1, 1, 1}, 1))
    parts.push_back(parts.size() < 6 ? tile(number, {1, 20}) : number);
  CHECK(relative_error(mixture_nll(concat(parts, 1), moves, {.reduction = none}),
                       mixture_nll(one, moves, {.reduction = none})) < golden_tolerance);
}

TEST_CASE("moves that do not count have neither loss nor gradient", "[nn]") {
  Random random(5);
  Tensor numbers = random.normal({3, 2, 13}), moves = any_moves({3, 2}, random);
  const MixtureNllOptions options{.counted = counted};
  const double before = mixture_nll(numbers, moves, options).item();
  moves.mutable_data()[3] = std::numeric_limits<real>::infinity();  // of a move that does not count
  const Function nll = [&](const std::vector<Tensor>& in) {
    return mixture_nll(in[0], in[1], options);
  };
  CHECK(nll({numbers, moves}).item() == Approx(before));
  CHECK(mixture_nll(numbers, moves, {counted, total}).item() == Approx(4 * before));
  CHECK(mixture_nll(numbers, moves, {counted, none}).data()[1] == 0);
}

TEST_CASE("samples have the mixture's distribution", "[nn]") {
  Random random(6);
  const Tensor numbers = single({1, -2, std::log(real{0.5}), std::log(real{2}), real{0.7}, -1});
  const Tensor many = broadcast_to(numbers, {40000, 7});
  const auto moments = [&](double bias) {
    const Tensor moves = sample_mixture(many, random, bias);
    const Tensor dx = select(moves, 0, -1) - mean_of(moves, 0),
                 dy = select(moves, 1, -1) - mean_of(moves, 1);
    CHECK(mean_of(moves, 0) == Approx(1).margin(0.01));
    CHECK(mean_of(moves, 1) == Approx(-2).margin(0.04));
    CHECK(mean_of(moves, 2) == Approx(1 / (1 + std::exp(1.0))).margin(0.01));
    const double s = std::sqrt(mean(square(dx)).item()), t = std::sqrt(mean(square(dy)).item());
    CHECK(mean(dx * dy).item() / (s * t) == Approx(0.999 * std::tanh(0.7)).margin(0.01));
    return std::pair(s, t);
  };
  CHECK(moments(0).first == Approx(0.5).epsilon(0.02));
  CHECK(moments(0).second == Approx(2).epsilon(0.02));
  CHECK(moments(2).first == Approx(0.5 * std::exp(-2.0)).epsilon(0.02));
  CHECK(moments(2).second == Approx(2 * std::exp(-2.0)).epsilon(0.02));
}

TEST_CASE("a bias prefers the likeliest component", "[nn]") {
  Random random(7);
  // w' = 1 and 0 at x = 1 and 0, with hardly any deviation
  const Tensor numbers({13}, {1, 0, 1, 0, 0, 0, -7, -7, -7, -7, 0, 0, 0});
  const Tensor many = broadcast_to(numbers, {20000, 13});
  for (const double bias : {0.0, 1.0})
    CHECK(mean_of(sample_mixture(many, random, bias), 0) ==
          Approx(1 / (1 + std::exp(-(1 + bias)))).margin(0.015));
}

TEST_CASE("a seed decides samples", "[nn]") {
  const Tensor numbers = Random(8).normal({4, 5, 13});
  Random one(1), same(1), other(2);
  const Tensor found = sample_mixture(numbers, one, 0.5);
  CHECK(found.shape() == Shape{4, 5, 3});
  CHECK(relative_error(sample_mixture(numbers, same, 0.5), found) == 0);
  CHECK(relative_error(sample_mixture(numbers, other, 0.5), found) > 0);
}

TEST_CASE("mixtures refuse what does not fit by name", "[nn]") {
  Random random(1);
  const Tensor moves = zeros({4, 3});
  for (const Index count : {0, 1, 6, 12})
    CHECK_THROWS_WITH(mixture_nll(zeros({4, count}), moves),
                      Contains("mixture_nll: needs 6 M + 1 numbers along the last axis: (4, "));
  CHECK_THROWS_WITH(mixture_nll(zeros({4, 7}), zeros({4, 2})),
                    Contains("mixture_nll: moves of (4, 2) need a shape (4, 3)"));
  CHECK_THROWS_WITH(mixture_nll(zeros({4, 7}), moves, {.counted = ones({4, 1})}),
                    Contains("mixture_nll: what counts needs a shape (4): (4, 1)"));
  CHECK_THROWS_WITH(sample_mixture(zeros({4, 8}), random), Contains("sample_mixture: needs 6 M"));
  CHECK_THROWS_AS(sample_mixture(zeros({4, 7}), random, -0.1), ArgumentError);
}
