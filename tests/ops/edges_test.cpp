#include <catch2/catch.hpp>

#include <cmath>
#include <limits>
#include <numeric>

#include "ops/table.h"
#include "support/golden.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/conv.h"
#include "tapegrad/ops/dropout.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/loss.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/norm.h"
#include "tapegrad/ops/reduce.h"
#include "tapegrad/ops/softmax.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Matchers::Contains;

namespace {

constexpr real infinity = std::numeric_limits<real>::infinity();
const real nan_value = std::numeric_limits<real>::quiet_NaN();
constexpr double epsilon = std::numeric_limits<real>::epsilon();

struct Named {
  const char* name;
  Tensor (*f)(const Tensor&, Place);
  double (*reference)(double);
};
const std::vector<Named> unary{
    {"exp", exp, std::exp},
    {"expm1", expm1, std::expm1},
    {"log", log, std::log},
    {"log1p", log1p, std::log1p},
    {"sqrt", sqrt, std::sqrt},
    {"sin", sin, std::sin},
    {"cos", cos, std::cos},
    {"tanh", tanh, std::tanh},
    {"erf", erf, std::erf},
    {"abs", abs, std::fabs},
    {"sigmoid", sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"relu", relu, [](double x) { return x > 0 || std::isnan(x) ? x : 0; }},
    {"softplus", softplus, [](double x) { return x > 30 ? x : std::log1p(std::exp(x)); }},
    {"rsqrt", rsqrt, [](double x) { return 1 / std::sqrt(x); }},
};

double gradient_at(Tensor (*f)(const Tensor&, Place), double x) {
  const Tape tape;
  const Tensor at = watch(Tensor(x));
  return grad(f(at, Place::here()), at).item();
}

}  // namespace

TEST_CASE("functions follow the C++ library over all magnitudes", "[ops]") {
  std::vector<real> points{0, 1, -1, infinity, -infinity, nan_value};
  for (double magnitude = 1e-30; magnitude < 1e30; magnitude *= 1.7) {
    points.push_back(static_cast<real>(magnitude));
    points.push_back(static_cast<real>(-magnitude));
  }
  const Tensor x({static_cast<Index>(points.size())}, points);
  for (const auto& [name, f, reference] : unary) {
    DYNAMIC_SECTION(name) {
      const Tensor y = f(x, Place::here());
      for (std::size_t i = 0; i < points.size(); ++i) {
        const auto expected = static_cast<real>(reference(points[i]));
        const real found = y.data()[i];
        INFO("at " << points[i] << ": " << found << ", expected " << expected);
        if (std::isnan(expected) || std::isinf(expected))
          CHECK((std::isnan(expected) ? std::isnan(found) : found == expected));
        else
          CHECK(std::abs(found - expected) <=
                8 * epsilon * std::abs(expected) + std::numeric_limits<real>::min());
      }
    }
  }
}

TEST_CASE("NaN is not lost", "[ops]") {
  const Tensor x({3}, {1, nan_value, -1});
  for (const Tensor& y : {neg(x), sign(x), square(x), reciprocal(x), gelu(x), silu(x), elu(x),
                          leaky_relu(x), clamp(x, 0, 1), minimum(x, 0.0), maximum(0.0, x)}) {
    INFO(text(y));
    CHECK(std::isnan(y.data()[1]));
    CHECK_FALSE(std::isnan(y.data()[0]));
  }
  CHECK(std::isnan(max(x).item()));
  CHECK(std::isnan(min(x).item()));
  CHECK(argmax(x, 0).data()[0] == 1);
  CHECK(std::isnan(logsumexp(x).item()));
  CHECK(std::isnan(max_pool2d(reshape(x, {1, 1, 1, 3}), {.size = 1}).data()[1]));
  CHECK(where(Tensor({3}, {1, 0, 1}), x, 0.0).data()[1] == 0);
}

TEST_CASE("empty tensors pass through", "[ops]") {
  const Tensor empty = zeros({0, 3});
  const Tape tape;
  const Tensor x = watch(empty);
  for (const Tensor& y : {exp(x), x + 1.0, x * Tensor({3}, {1, 2, 3}), relu(x), softmax(x),
                          layer_norm(x), permute(x, {1, 0}), concat({x, x}), slice(x, 1, 0, 2),
                          matmul(x, ones({3, 4})), sum(x, 1), where(x, x, 0.0)}) {
    CHECK(y.size() == 0);
    CHECK(grad(y, x, {.seed = y, .keep = true}).shape() == x.shape());
  }
  CHECK(sum(x).item() == 0);
  CHECK(sum(x, 0).shape() == Shape{3});
  CHECK(sum(x, 0).values()[2] == 0);
  CHECK(std::isnan(mean(x).item()));
  CHECK_THROWS_WITH(max(x), Contains("no elements"));
  CHECK(matmul(zeros({2, 0}), zeros({0, 3})).values()[5] == 0);
}

TEST_CASE("one element and axes of one", "[ops]") {
  CHECK(softmax(Tensor({1}, {5})).item() == 1);
  CHECK(layer_norm(Tensor({1, 1}, {5})).item() == 0);
  CHECK(var(Tensor({1}, {5})).item() == 0);
  CHECK(matmul(Tensor({1, 1}, {3}), Tensor({1, 1}, {4})).item() == 12);
  CHECK(logsumexp(Tensor(7.0)).item() == 7);
  CHECK(permute(Tensor(7.0), {}).item() == 7);
  CHECK(conv2d(ones({1, 1, 1, 1}), full({1, 1, 1, 1}, 3)).item() == 3);
}

TEST_CASE("softmax at the extremes", "[ops]") {
  CHECK(softmax(Tensor({3}, {0, -infinity, 0})).values()[1] == 0);
  const Tensor large = softmax(Tensor({2}, {10000, 9999}));
  CHECK(large.values()[0] == Approx(1 / (1 + std::exp(-1.0))));
  CHECK(logsumexp(Tensor({2}, {-infinity, -infinity})).item() == -infinity);
  CHECK(logsumexp(Tensor({2}, {10000, 10000})).item() == Approx(10000 + std::log(2.0)));
  CHECK(std::isnan(softmax(Tensor({2}, {-infinity, -infinity})).values()[0]));
}

TEST_CASE("gradients at kinks and ties are PyTorch's", "[ops]") {
  CHECK(gradient_at(relu, 0) == 0);
  CHECK(gradient_at(abs, 0) == 0);
  CHECK(gradient_at([](const Tensor& x, Place) { return leaky_relu(x, 0.1); }, 0) == Approx(0.1));
  CHECK(gradient_at([](const Tensor& x, Place) { return elu(x, 0.7); }, 0) == Approx(0.7));
  CHECK(gradient_at([](const Tensor& x, Place) { return clamp(x, -1, 1); }, 1) == 1);
  CHECK(gradient_at([](const Tensor& x, Place) { return clamp(x, -1, 1); }, 1.5) == 0);
  CHECK(gradient_at([](const Tensor& x, Place) { return maximum(x, 2.0); }, 2) == 0.5);
  CHECK(gradient_at([](const Tensor& x, Place) { return norm(x); }, 0) == 0);
  CHECK(gradient_at([](const Tensor& x, Place) { return pow(x, 0.0); }, 0) == 0);
  CHECK(gradient_at([](const Tensor& x, Place) { return pow(0.0, x); }, 2) == 0);
  const Tape tape;
  const Tensor x = watch(Tensor({4}, {3, 1, 3, 3}));
  CHECK(grad(max(x), x).values()[0] == Approx(1.0 / 3));
  const Tensor image = watch(ones({1, 1, 2, 2}));
  const Tensor pooled = grad(sum(max_pool2d(image)), image);
  CHECK(pooled.values()[0] == 1);
  CHECK(pooled.values()[3] == 0);
}

TEST_CASE("what was not chosen does not poison the gradient", "[ops]") {
  const Tape tape;
  const Tensor x = watch(Tensor({2}, {0, 4}));
  const Tensor dx = grad(sum(where(greater(x, 0.0), sqrt(where(greater(x, 0.0), x, 1.0)), 0.0)), x);
  CHECK(dx.values()[0] == 0);
  CHECK(dx.values()[1] == Approx(0.25));
}

TEST_CASE("sums keep their precision", "[ops]") {
  const Index count = 3'000'001;
  const Tensor x = full({count}, 0.1);
  CHECK(sum(x).item() ==
        Approx(static_cast<double>(count) * static_cast<double>(real(0.1))).epsilon(1e-5));
  CHECK(var(full({1000}, 1e4) + Tensor(0.0)).item() == Approx(0).margin(1e-3));
}

TEST_CASE("dropout keeps the mean and repeats for a seed", "[ops]") {
  Random random(4);
  const Tensor x = ones({100'000});
  const Tensor y = dropout(x, 0.25, random);
  CHECK(mean(y).item() == Approx(1).margin(0.02));
  CHECK(max(y).item() == Approx(1 / 0.75));
  Random again(4);
  CHECK(relative_error(dropout(x, 0.25, again), y) == 0);
  CHECK(relative_error(dropout(x, 0, again), x) == 0);
  CHECK_THROWS_WITH(dropout(x, 1, random), Contains("dropout") && Contains("[0, 1)"));
  {
    const Composite readable;
    Random definition(4);
    CHECK(relative_error(dropout(x, 0.25, definition), y) < golden_tolerance);
    CHECK(definition.state() == Random(again).state());
  }
  CHECK(dropout(zeros({0, 3}), 0.5, random).shape() == Shape{0, 3});
  const Function f = [](const std::vector<Tensor>& in) {
    Random fixed(9);
    return dropout(square(in[0]), 0.5, fixed);
  };
  CHECK(check_gradient(f, {Random(1).normal({3, 4})}));
  CHECK(check_second_gradient(f, {Random(1).normal({3, 4})}));
}

TEST_CASE("errors name the operation and the shapes", "[ops]") {
  const Tensor a = zeros({2, 3}), b = zeros({4, 5});
  CHECK_THROWS_WITH(a + b, "add: shapes do not broadcast: (2, 3) and (4, 5)");
  CHECK_THROWS_WITH(matmul(a, b), "matmul: inner sizes differ: (2, 3) x (4, 5)");
  CHECK_THROWS_WITH(matmul(a, Tensor(1.0)), Contains("matrices") && Contains("(2, 3) x ()"));
  CHECK_THROWS_WITH(matmul(zeros({3}), a), Contains("inner sizes differ: (3) x (2, 3)"));
  CHECK_THROWS_WITH(matmul(zeros({2}), a, {.a = true}), Contains("(2) transposed x (2, 3)"));
  CHECK_THROWS_WITH(reshape(a, {4, 2}), "reshape: sizes differ: (2, 3) to (4, 2)");
  CHECK_THROWS_WITH(reshape(a, {4, -1}), Contains("(2, 3)"));
  CHECK_THROWS_WITH(permute(a, {0, 0}), Contains("(2, 3)"));
  CHECK_THROWS_WITH(slice(a, 1, 2, 5), Contains("[2, 5)") && Contains("(2, 3)"));
  CHECK_THROWS_WITH(concat({a, b}), Contains("(2, 3) and (4, 5)"));
  CHECK_THROWS_WITH(stack({a, b}), Contains("(2, 3) and (4, 5)"));
  CHECK_THROWS_WITH(broadcast_to(a, {2}), Contains("(2, 3)") && Contains("(2)"));
  CHECK_THROWS_WITH(split(a, {1, 1}, 1), Contains("(2, 3)"));
  CHECK_THROWS_WITH(sum(a, 2), Contains("axis 2") && Contains("(2, 3)"));
  CHECK_THROWS_WITH(sum(a, {0, -2}), Contains("named twice"));
  CHECK_THROWS_WITH(embedding(a, Indices({1}, {2})),
                    Contains("embedding: index 2 is not in [0, 2)"));
  CHECK_THROWS_WITH(gather(a, 1, Indices({1, 1}, {0})), Contains("(1, 1)") && Contains("(2, 3)"));
  CHECK_THROWS_WITH(cross_entropy(a, Indices({2}, {0, 3})), Contains("index 3 is not in [0, 3)"));
  CHECK_THROWS_WITH(cross_entropy(a, Indices({3}, {0, 0, 0})),
                    Contains("(2, 3)") && Contains("(3)"));
  CHECK_THROWS_WITH(mse(a, b), "mse: shapes differ: (2, 3) and (4, 5)");
  CHECK_THROWS_WITH(conv2d(zeros({1, 2, 3, 3}), zeros({1, 1, 2, 2})), Contains("channels differ"));
  CHECK_THROWS_WITH(conv2d(zeros({1, 1, 3, 3}), zeros({1, 1, 5, 5})), Contains("does not fit"));
  CHECK_THROWS_WITH(max_pool2d(a), Contains("(N, C, H, W)") && Contains("(2, 3)"));
  CHECK_THROWS_WITH(clamp(a, 1, 0), Contains("clamp"));
  CHECK_THROWS_WITH(masked_fill(a, zeros({2, 2, 3}), 0), Contains("(2, 2, 3)"));
  CHECK_THROWS_WITH(a.item(), Contains("(2, 3)"));
}

TEST_CASE("a parameter is named when its shape does not fit", "[ops]") {
  const Parameter weight(zeros({784, 10}), "hidden.weight");
  const Tape tape;
  CHECK_THROWS_WITH(matmul(zeros({64, 100}), weight),
                    "matmul: inner sizes differ: (64, 100) x (784, 10) of hidden.weight");
}

TEST_CASE("single precision follows double", "[ops]") {
  // Golden values are in double; large inputs through every fused row would show lost digits.
  const Tensor x = Random(2).normal({50, 300}, 1000, 1);
  const Tensor y = layer_norm(x);
  CHECK(mean(y).item() == Approx(0).margin(1e-3));
  CHECK(var(y).item() == Approx(1).margin(1e-3));
}

TEST_CASE("comparisons are constants of ones and zeros", "[ops]") {
  const Tensor a({3}, {1, 2, 3}), b(2.0);
  const auto is = [](const Tensor& x, std::vector<real> expected) {
    return std::equal(expected.begin(), expected.end(), x.data());
  };
  CHECK(is(equal(a, b), {0, 1, 0}));
  CHECK(is(not_equal(a, b), {1, 0, 1}));
  CHECK(is(less(a, b), {1, 0, 0}));
  CHECK(is(less_equal(a, b), {1, 1, 0}));
  CHECK(is(greater(a, b), {0, 0, 1}));
  CHECK(is(greater_equal(a, b), {0, 1, 1}));
  CHECK(is(one_hot(Indices({2}, {2, 0}), 3), {0, 0, 1, 1, 0, 0}));
}

TEST_CASE("the Jacobian check sees a single wrong entry", "[ops]") {
  const std::vector<Tensor> x{Random(1).normal({4})};
  const auto f = [](const std::vector<Tensor>& in) { return softmax(in[0]); };
  CHECK(check_jacobian(f, x));
  const auto wrong = [](const std::vector<Tensor>& in) {
    const Tensor y = softmax(in[0]);
    return record("wrong", detach(y), {}, edge(y, [](const Tensor& g) {
                    return g * Tensor({4}, {1, 1, 2, 1});
                  }));
  };
  CHECK_FALSE(check_jacobian(wrong, x));
  CHECK_THAT(check_jacobian(wrong, x).message, Contains("output 2"));
}
