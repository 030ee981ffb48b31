#include "tapegrad/ops/norm.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "ops/check_same.h"
#include "support/golden.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"
#include "tapegrad/ops/affine.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/derivatives.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/normalize.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

const NormField per_row{.axes = {-1}};

double dot(const Tensor& a, const Tensor& b) { return sum(a * b).item(); }

struct Statistics {
  Tensor y, b;            // normalized, and the gradient
  double mean, variance;  // of the gradient
};

// One row with its gradient under options.
Statistics backward(const Tensor& x, const Tensor& g, const NormOptions& options) {
  const F f = [&](const Tensor& in) { return layer_norm(in, options); };
  const Tensor b = gradient(f, x, g);
  return {f(x), b, mean(b).item(), var(b).item()};
}

}  // namespace

// Xu et al. 2019, Theorem 1, in its exact form.
TEST_CASE("layer normalization is the general form over rows", "[norm]") {
  // With means that are exact, the general form has nothing to correct.
  const Tensor x({3, 4}, {1, 2, 3, 6, -4, 0, 1, 7, 5, 2, 2, -1}), seed = Random(3).normal({3, 4});
  for (const bool mean : {false, true})
    for (const bool scale : {false, true}) {
      const NormOptions options{.epsilon = 0.1, .detach_mean = mean, .detach_scale = scale};
      const F general = [&](const Tensor& in) {
        return composite::normalize(in, both(per_row), options);
      };
      const F definition = [&](const Tensor& in) { return composite::layer_norm(in, options); };
      CHECK(relative_error(definition(x), general(x)) == 0);
      CHECK(relative_error(gradient(definition, x, seed), gradient(general, x, seed)) == 0);
    }
}

TEST_CASE("detached statistics: means and variances of gradients", "[norm]") {
  Random random(3);
  for (const Index length : {2, 3, 8, 64})
    for (const double epsilon : {1e-5, 0.1})
      for (const Epsilon place : {Epsilon::inside_root, Epsilon::outside_root})
        for (const Variance variance : {Variance::biased, Variance::unbiased}) {
          const Tensor x = random.normal({length}, 1, 2), g = random.normal({length}, 0.5, 1);
          const double deviation = stddev(x, {}, Keep::no, variance).item();
          const double s = place == Epsilon::inside_root
                               ? std::sqrt(deviation * deviation + epsilon)
                               : deviation + epsilon;
          const auto run = [&](bool detach_mean, bool detach_scale) {
            return backward(x, g, {epsilon, detach_mean, detach_scale, place, variance});
          };
          const Statistics full = run(false, false), scale = run(false, true),
                           center = run(true, false), none = run(true, true);
          const double g_mean = mean(g).item(), bound = var(g).item() / (s * s);
          CAPTURE(length, epsilon, place == Epsilon::inside_root, variance == Variance::biased);
          CHECK(none.mean == Approx(g_mean / s).margin(same_precision));
          CHECK(none.variance == Approx(bound).epsilon(same_precision));
          CHECK(full.mean == Approx(0).margin(same_precision));
          CHECK(scale.mean == Approx(0).margin(same_precision));
          CHECK(scale.variance == Approx(bound).epsilon(same_precision));
          CHECK(center.mean == Approx(g_mean / s).margin(same_precision));
          CHECK(center.variance ==
                Approx(full.variance).epsilon(same_precision).margin(same_precision));
          CHECK(full.variance <= bound * (1 + same_precision));
          if (place == Epsilon::inside_root && variance == Variance::biased) {
            const double p = mean(g * full.y).item(), r = var(full.y).item();
            CHECK(full.variance == Approx((var(g).item() - p * p * (2 - r)) / (s * s))
                                       .epsilon(same_precision)
                                       .margin(same_precision));
            CHECK(dot(full.b, x - mean(x)) ==
                  Approx(static_cast<double>(length) * p * (1 - r)).margin(10 * same_precision));
          }
        }
}

TEST_CASE("detaching does not change values", "[norm]") {
  const Tensor x = Random(1).normal({3, 7});
  const Tensor y = layer_norm(x);
  for (const bool m : {false, true})
    for (const bool s : {false, true})
      CHECK(relative_error(layer_norm(x, {.detach_mean = m, .detach_scale = s}), y) == 0);
}

// The radial part of the gradient of a weight before the normalization.
TEST_CASE("the gradient of a weight has no radial part unless statistics are detached", "[norm]") {
  Random random(5);
  const Tensor w = random.normal({6, 9}), x = random.normal({4, 6}, 0.3), g = random.normal({4, 9});
  const auto radial = [&](bool m, bool s) {
    const F f = [&](const Tensor& in) { return layer_norm(matmul(x, in), {0, m, s}); };
    return dot(w, gradient(f, w, g));
  };
  const Tensor a = matmul(x, w), y = layer_norm(a, {.epsilon = 0});
  const double means = sum(9.0 * mean(g, -1) * mean(a, -1) / stddev(a, -1)).item();
  const double scales = dot(g, y);
  CHECK(radial(false, false) == Approx(0).margin(10 * same_precision));
  CHECK(radial(true, false) == Approx(means).epsilon(same_precision));
  CHECK(radial(false, true) == Approx(scales).epsilon(same_precision));
  CHECK(radial(true, true) == Approx(means + scales).epsilon(same_precision));
}

TEST_CASE("layer normalization with a smoothing term", "[norm]") {
  Random random(6);
  const Tensor a = random.normal({8}, 1, 2), q = random.normal({8});
  const Tensor s(0.7);
  const Function f = [](const auto& in) { return normalize(in[0], both(per_row), {}, in[1]); };
  const std::vector<Tensor> gradients = vjp(f, {a, s}, q);
  const Tensor centered = a - mean(a);
  const double sigma = std::sqrt(var(a).item() + 0.49);
  CHECK(gradients[1].item() ==
        Approx(-0.7 / (sigma * sigma * sigma) * dot(q, centered)).epsilon(same_precision));
  CHECK(dot(a, gradients[0]) + 0.7 * gradients[1].item() ==
        Approx(0).margin(same_precision));  // Euler
  CHECK(dot(gradients[0], centered) ==
        Approx(dot(q, centered / sigma) * 0.49 / (sigma * sigma)).epsilon(same_precision));
  // The diagonal of the Jacobian: the printed formula has nothing else.
  const Tensor y = centered / sigma;
  for (Index i = 0; i < 3; ++i) {
    Tensor unit = zeros({8});
    unit.mutable_data()[i] = 1;
    const double found = vjp(f, {a, s}, unit)[0].data()[i];
    CHECK(found ==
          Approx((1 - 1.0 / 8 - y.data()[i] * y.data()[i] / 8) / sigma).epsilon(same_precision));
  }
  // Linear for a large term, layer_norm for a small one.
  CHECK(relative_error(1e3 * f({a, Tensor(1e3)}), centered) < 1e-4);
  CHECK(relative_error(f({a, Tensor(1e-4)}), layer_norm(a, {.epsilon = 0})) < 1e-4);
}

TEST_CASE("gradients of RMS and batch normalization", "[norm]") {
  Random random(12);
  const Tensor x = random.normal({5, 8}, 0.5), g = random.normal({5, 8});
  const F rms = [](const Tensor& in) { return rms_norm(in, {.epsilon = 0}); };
  const Tensor b = gradient(rms, x, g), y = rms(x);
  const Tensor root = sqrt(mean(square(x), -1, Keep::yes));
  CHECK(relative_error(b, (g - y * mean(g * y, -1, Keep::yes)) / root) < same_precision);
  CHECK(norm(sum(x * b, -1)).item() < 10 * same_precision);
  CHECK(relative_error(mean(square(b), -1), (mean(square(g), -1) - square(mean(g * y, -1))) /
                                                square(reshape(root, {5}))) < same_precision);
  check_same([](const Tensor& in) { return rms_norm(in - mean(in, -1, Keep::yes)); },
             [](const Tensor& in) { return layer_norm(in, {.epsilon = 1e-6}); }, x);

  const F batch = [](const Tensor& in) { return normalize(in, both({.axes = {0}})); };
  CHECK(norm(sum(gradient(batch, x, g), 0)).item() < 10 * same_precision);
  check_same(
      batch, [](const Tensor& in) { return transpose(layer_norm(transpose(in))); }, x);
}

TEST_CASE("AdaNorm", "[norm]") {
  Random random(13);
  const Tensor x = random.normal({4, 16}, 1, 3), g = random.normal({4, 16});
  const NormOptions sharp{.epsilon = 0};
  const AdaOptions plain{.factor = 1.5, .slope = 0.2},
      attached{.factor = 1.5, .slope = 0.2, .detach_factor = false};
  const Tensor y = layer_norm(x, sharp), phi = 1.5 * (1 - 0.2 * y);
  CHECK(relative_error(mean(phi, -1), full({4}, 1.5)) < same_precision);
  CHECK(relative_error(mean(ada_scale(y, plain), -1), full({4}, -1.5 * 0.2)) < same_precision);
  const F layer = [&](const Tensor& in) { return layer_norm(in, sharp); };
  const auto through = [&](const AdaOptions& o) {
    return gradient([&](const Tensor& in) { return ada_scale(layer(in), o); }, x, g);
  };
  CHECK(relative_error(through(plain), gradient(layer, x, phi * g)) < same_precision);
  CHECK(relative_error(through(attached), gradient(layer, x, 1.5 * (1 - 0.4 * y) * g)) <
        same_precision);
  CHECK(norm(mean(through(plain), -1)).item() < same_precision);
  check_same([&](const Tensor& in) { return ada_scale(layer(in), {.factor = 1, .slope = 0}); },
             layer, x);
}

// Kernels take several rows at a time.
TEST_CASE("the rows of a matrix do not feel each other", "[norm]") {
  Random random(5);
  for (const Shape& shape : {Shape{11, 37}, Shape{50, 128}, Shape{6, 1500}}) {
    const Tensor x = random.normal(shape, 2, 3), g = random.normal(shape);
    const Tensor gain = random.normal({shape[1]}), bias = random.normal({shape[1]});
    const std::vector<F> functions{
        [](const Tensor& in) { return layer_norm(in); },
        [&](const Tensor& in) { return affine_norm(in, both(per_row), gain, bias); }};
    for (std::size_t i = 0; i < functions.size(); ++i) {
      const Tensor y = functions[i](x), dx = gradient(functions[i], x, g);
      for (Index r = 0; r < shape[0]; ++r) {
        CAPTURE(shape, i, r);
        const auto row = [&](const Tensor& matrix) { return slice(matrix, 0, r, r + 1); };
        CHECK(std::ranges::equal(functions[i](row(x)).values(), row(y).values()));
        const Tensor alone = gradient(functions[i], row(x), row(g));
        CHECK(std::ranges::equal(alone.values(), row(dx).values()));
      }
    }
  }
}

TEST_CASE("a constant row has gradient 0 with epsilon outside the root", "[norm]") {
  const Tensor x = full({2, 4}, 3), g = Random(2).normal({2, 4});
  for (const bool readable : {false, true}) {
    std::optional<Composite> composite;
    if (readable) composite.emplace();
    const F f = [](const Tensor& in) {
      return layer_norm(in, {.epsilon = 0.5, .place = Epsilon::outside_root});
    };
    CHECK(norm(f(x)).item() == 0);
    CHECK(relative_error(gradient(f, x, g), (g - mean(g, -1, Keep::yes)) / 0.5) < same_precision);
  }
}

TEST_CASE("a weight of zeros stays 0 and keeps the net alive", "[norm]") {
  // The second column, of length 5, is not affected.
  const Tensor v({2, 2}, {0, 3, 0, 4}), gain({1, 2}, {2, 5}), g({2, 2}, {1, 1, -3, 0});
  for (const bool recorded : {false, true}) {
    std::optional<Tape> tape;
    if (recorded) tape.emplace();
    const auto f = [](const std::vector<Tensor>& in) { return weight_norm(in[0], in[1], 0); };
    CHECK(relative_error(f({v, gain}), Tensor({2, 2}, {0, 3, 0, 4})) < same_precision);
    const std::vector<Tensor> found = vjp(f, {v, gain}, g);
    CHECK(relative_error(found[0], Tensor({2, 2}, {2, 0.64, -6, -0.48})) < same_precision);
    CHECK(relative_error(found[1], Tensor({1, 2}, {0, 0.6})) < same_precision);
  }
}

TEST_CASE("single precision follows double", "[ops]") {
  // Golden values are in double; large inputs through every fused row would show lost digits.
  const Tensor x = Random(2).normal({50, 300}, 1000, 1);
  const Tensor y = layer_norm(x);
  CHECK(mean(y).item() == Approx(0).margin(1e-3));
  CHECK(var(y).item() == Approx(1).margin(1e-3));
}
