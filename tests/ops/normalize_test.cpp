#include "tapegrad/ops/normalize.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <optional>

#include "ops/check_same.h"
#include "tapegrad/core/error.h"
#include "tapegrad/nn/functions/divisive.h"
#include "tapegrad/nn/functions/pool.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

const NormField along_rows{.axes = {-1}};

}  // namespace

TEST_CASE("normalizations of images that are the same", "[norm]") {
  Random random(14);
  const Tensor x = random.normal({2, 4, 3, 5}, 0.5);
  const auto over = [](const NormField& field) {
    return [=](const Tensor& in) { return normalize(in, both(field)); };
  };
  const NormField instance{.axes = {2, 3}}, layer{.axes = {1, 2, 3}}, batch{.axes = {0, 2, 3}};
  check_same(over({.axes = {1, 2, 3}, .groups = 4}), over(instance), x);
  check_same(over({.axes = {1, 2, 3}, .groups = 1}), over(layer), x);
  check_same(
      [&](const Tensor& in) {
        return reshape(over(batch)(reshape(in, {1, 8, 3, 5})), in.shape());
      },
      over(instance), x);
  check_same(over(batch), over(instance), slice(x, 0, 0, 1));
  check_same(
      over(layer),
      [](const Tensor& in) {
        return reshape(layer_norm(reshape(in, {2, -1})), in.shape());
      },
      x);
  CHECK(norm(over(instance)(random.normal({2, 3, 1, 1}))).item() == 0);
}

TEST_CASE("divisive normalization has the others as special cases", "[norm]") {
  Random random(15);
  const Tensor x = random.normal({3, 6}, 0.5), image = random.normal({2, 3, 4, 4});
  const auto window = [](int axis, Index radius) {
    return
        [=](const Tensor& in) { return normalize(in, both({.window = {axis}, .radius = radius})); };
  };
  const F layer = [](const Tensor& in) { return layer_norm(in); };
  check_same(window(1, 5), layer, x);
  check_same(window(1, 100), layer, x);
  CHECK(norm(window(1, 0)(x)).item() == 0);
  const auto pooled = [](const Tensor& in) {
    const PoolOptions near{.size = 17, .stride = 1, .padding = 8, .count_include_pad = false};
    return reshape(avg_pool1d(reshape(in, {1, 2, 300}), near), in.shape());
  };
  check_same(
      window(1, 8),
      [=](const Tensor& in) {
        const Tensor centered = in - pooled(in);
        return centered / sqrt(pooled(square(centered)) + 1e-5);
      },
      random.normal({2, 300}));
  check_same(
      [](const Tensor& in) {
        return normalize(in, both({.axes = {1}, .window = {2, 3}, .radius = 3}));
      },
      [](const Tensor& in) {
        return normalize(in, both({.axes = {1, 2, 3}}));
      },
      image);
  const Tensor mean_weights = full({6, 6}, 1.0 / 6);
  check_same(
      [&](const Tensor& in) {
        return divisive_norm(in, eye(6), mean_weights, {.smoothing = std::sqrt(1e-6)});
      },
      [](const Tensor& in) { return rms_norm(in); }, x);
  const F ratio = [&](const Tensor& in) {
    const Tensor centered = in - mean(in, -1, Keep::yes);
    return divisive_norm(centered, eye(6) - mean_weights, mean_weights,
                         {.smoothing = std::sqrt(1e-5)});
  };
  check_same(ratio, layer, x);
  // a large sigma: linear
  const NormOptions smooth{.epsilon = 1e8};
  CHECK(relative_error(
            1e4 * normalize(x, both({.window = {1}, .radius = 1}), smooth),
            x - matmul(x, Tensor({6, 6}, {.5,     .5, 0,  0,      0,      0,      1. / 3, 1. / 3,
                                          1. / 3, 0,  0,  0,      0,      1. / 3, 1. / 3, 1. / 3,
                                          0,      0,  0,  0,      1. / 3, 1. / 3, 1. / 3, 0,
                                          0,      0,  0,  1. / 3, 1. / 3, 1. / 3, 0,      0,
                                          0,      0,  .5, .5}),
                       {.b = true})) < 1e-5);
}

TEST_CASE("normalization refuses what it cannot do", "[norm]") {
  const Tensor x = ones({2, 6});
  CHECK_THROWS_WITH(normalize(x, both({.axes = {2}})),
                    Catch::Contains("no axis 2") && Catch::Contains("(2, 6)"));
  CHECK_THROWS_WITH(normalize(x, both({.axes = {1}, .groups = 4})),
                    Catch::Contains("4 groups do not divide"));
  CHECK_THROWS_WITH(normalize(x, both({.axes = {1}, .share = 0.1})), Catch::Contains("share"));
  CHECK_THROWS_AS(normalize(x, both({})), ArgumentError);
  CHECK_THROWS_AS(
      normalize(x, both({.window = {1}, .radius = 1}), {.variance = Variance::unbiased}),
      ArgumentError);
  CHECK_THROWS_AS(normalize(x, both(along_rows), {.place = Epsilon::outside_root}, Tensor(1.0)),
                  ArgumentError);
  CHECK_THROWS_AS(layer_norm(Tensor(1.0)), ShapeError);
}

TEST_CASE("columns are normalized as rows are", "[norm]") {
  std::vector<NormOptions> variants{{}, {.epsilon = 0.3}};
  variants.push_back({.detach_mean = true});
  variants.push_back({.detach_scale = true});
  variants.push_back({.epsilon = 0.3, .place = Epsilon::outside_root});
  variants.push_back({.variance = Variance::unbiased});
  Random random(21);
  for (const Shape& shape : {Shape{5, 130}, Shape{7, 1}, Shape{2, 64}, Shape{2, 3, 65}}) {
    const Tensor x = random.normal(shape, 2, 3);
    std::vector<int> leading;
    for (int axis = 0; axis + 1 < shape.rank(); ++axis) leading.push_back(axis);
    for (std::size_t i = 0; i < variants.size(); ++i)
      for (const bool centered : {true, false}) {
        CAPTURE(shape, i, centered);
        const auto over = [&](const NormField& field) {
          return NormFields{centered ? std::optional(field) : std::nullopt, field};
        };
        check_same([&](const Tensor& in) { return normalize(in, over({leading}), variants[i]); },
                   [&](const Tensor& in) {
                     const Tensor matrix = reshape(in, {-1, shape[-1]});
                     return reshape(
                         transpose(normalize(transpose(matrix), over(along_rows), variants[i])),
                         shape);
                   },
                   x);
      }
  }
  CHECK(normalize(zeros({0, 3}), both({.axes = {0}})).shape() == Shape{0, 3});
  CHECK(normalize(zeros({3, 0}), both({.axes = {0}})).shape() == Shape{3, 0});
}
