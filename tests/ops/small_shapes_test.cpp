#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <vector>

#include "support/values.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/indices.h"
#include "tapegrad/core/random.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/nn/functions/conv.h"
#include "tapegrad/nn/functions/divisive.h"
#include "tapegrad/nn/functions/loss.h"
#include "tapegrad/nn/functions/pool.h"
#include "tapegrad/nn/layers/linear.h"
#include "tapegrad/nn/layers/norm.h"
#include "tapegrad/nn/layers/transformer.h"
#include "tapegrad/ops/affine.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/norm.h"
#include "tapegrad/ops/normalize.h"
#include "tapegrad/ops/order.h"
#include "tapegrad/ops/reduce.h"
#include "tapegrad/ops/softmax.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

TEST_CASE("what takes (..., H) takes a vector as its only row", "[ops]") {
  Random random(1);
  const Tensor x = random.normal({5}), w = random.normal({5, 5}), u = square(random.normal({5, 5})),
               row = random.normal({5});
  const Linear biased(5, 3, random), plain(5, 3, random, {.bias = false});
  const FeedForward feed_forward(random, {.channels = 5});
  std::vector<std::function<Tensor(const Tensor&)>> functions{
      [&](const Tensor& v) { return matmul(v, w); },
      [&](const Tensor& v) { return matmul(v, w, {.b = true}); },
      [&](const Tensor& v) { return linear(v, w, row); },
      [&](const Tensor& v) { return divisive_norm(v, w, u); },
      [&](const Tensor& v) { return divisive_norm(v, w, u, {.exponent = 3}); },
      [&](const Tensor& v) { return normalize(v, both({.window = {-1}, .radius = 1})); },
      [&](const Tensor& v) { return centered_l1(v, {.window = {-1}, .radius = 1}); },
      [&](const Tensor& v) { return affine(v, row, row); },
      [&](const Tensor& v) { return affine_norm(v, both({.axes = {-1}}), row, row); },
      [](const Tensor& v) { return layer_norm(v); },
      [](const Tensor& v) { return rms_norm(v); },
      [](const Tensor& v) { return ada_scale(v); },
      [](const Tensor& v) { return softmax(v); },
      [](const Tensor& v) { return log_softmax(v); },
      [](const Tensor& v) { return cumsum(v, -1); },
      [&](const Tensor& v) { return biased(v); },
      [&](const Tensor& v) { return plain(v); },
      [&](const Tensor& v) { return feed_forward(v); },
      [](const Tensor& v) { return pick(v, v.rank() == 1 ? Indices({}, {2}) : Indices({1}, {2})); },
      [](const Tensor& v) {
        return cross_entropy(v, v.rank() == 1 ? Indices({}, {2}) : Indices({1}, {2}));
      },
  };
  for (const char* name : {"layer", "layer_simple", "detach", "ada", "rms", "rms:p=0.5",
                           "group:groups=5", "divisive", "divisive:radius=1,learn_s=1"})
    functions.push_back([norm = Norm(name, 5)](const Tensor& v) { return norm(v); });
  for (std::size_t i = 0; i < functions.size(); ++i)
    for (const bool readable : {false, true}) {
      const Composite choice(readable);
      INFO("function " << i << (readable ? ", composite" : ""));
      const Tensor expected = functions[i](reshape(x, {1, 5})), y = functions[i](x);
      CHECK(y.size() == expected.size());
      CHECK(y.rank() == std::max(0, expected.rank() - 1));
      CHECK(distance(reshape(y, expected.shape()), expected) < 1e-6);
      CHECK(
          check_gradient([&](const auto& in) { return functions[i](in[0]); }, {x}).ok ==
          check_gradient([&](const auto& in) { return functions[i](in[0]); }, {reshape(x, {1, 5})})
              .ok);
    }
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

// PyTorch refuses images without positions in pools and kernels without elements.
TEST_CASE("windows of every small image have a shape or are refused", "[ops]") {
  struct Row {
    const char* name;
    std::function<Tensor(const Tensor& x, const Tensor& weight)> f;
    bool weighs;
  };
  const auto line = [](const Tensor& x) { return reshape(x, x.shape().without(2)); };
  const std::vector<Row> rows{
      {"max_pool2d", [](auto& x, auto&) { return max_pool2d(x, {.size = 1}); }, false},
      {"avg_pool2d", [](auto& x, auto&) { return avg_pool2d(x, {.size = 1}); }, false},
      {"max_pool2d up",
       [](auto& x, auto&) { return max_pool2d(x, {.size = 1, .stride = 2, .ceil_mode = true}); },
       false},
      {"avg_pool2d up",
       [](auto& x, auto&) { return avg_pool2d(x, {.size = 1, .stride = 2, .ceil_mode = true}); },
       false},
      {"avg_pool2d padded", [](auto& x, auto&) { return avg_pool2d(x, {.size = 2, .padding = 1}); },
       false},
      {"avg_pool2d of elements",
       [](auto& x, auto&) {
         return avg_pool2d(
             x, {.size = 2, .padding = 1, .ceil_mode = true, .count_include_pad = false});
       },
       false},
      {"max_pool2d padded",
       [](auto& x, auto&) { return max_pool2d(x, {.size = 2, .padding = 1, .ceil_mode = true}); },
       false},
      {"adaptive_max_pool2d", [](auto& x, auto&) { return adaptive_max_pool2d(x, 1); }, false},
      {"adaptive_avg_pool2d", [](auto& x, auto&) { return adaptive_avg_pool2d(x, 1); }, false},
      {"conv2d", [](auto& x, auto& w) { return conv2d(x, w); }, true},
      {"conv_transpose2d", [](auto& x, auto& w) { return conv_transpose2d(x, transpose(w, 0, 1)); },
       true},
  };
  for (const Row& row : rows)
    for (int bits = 0; bits < (row.weighs ? 128 : 16); ++bits) {
      const auto extent = [&](int bit) { return Index{bits >> bit & 1}; };
      const Shape image{extent(0), extent(1), extent(2), extent(3)};
      const Shape filters{extent(4), extent(1), extent(5), extent(6)};
      INFO(row.name << " of " << image << " by " << filters);
      const Tape tape;
      const Tensor x = watch(ones(image)), w = watch(ones(filters));
      const bool refused = image.count(2, 4) == 0 || (row.weighs && filters.count(2, 4) == 0);
      if (refused) {
        CHECK_THROWS_AS(row.f(x, w), Error);
        continue;
      }
      const Tensor y = row.f(x, w);
      CHECK(y.shape() == image.with(1, row.weighs ? extent(4) : extent(1)));
      const std::vector<Tensor> found = grad(sum(y), {x, w});
      CHECK(found[0].shape() == image);
      CHECK(found[1].shape() == filters);
    }
  for (const Index length : {0, 1}) {  // along one axis
    const Tensor x = ones({1, 1, 1, length});
    const std::vector<std::function<Tensor()>> pools{
        [&] { return max_pool1d(line(x), {.size = 1, .stride = 2, .ceil_mode = true}); },
        [&] { return avg_pool1d(line(x), {.size = 1, .stride = 2, .ceil_mode = true}); },
        [&] { return adaptive_max_pool1d(line(x), 1); },
        [&] { return adaptive_avg_pool1d(line(x), 1); },
        [&] {
          return conv1d(line(x), ones({1, 1, 1}));
        }};
    for (const auto& pool : pools)
      if (length == 0)
        CHECK_THROWS_AS(pool(), ShapeError);
      else
        CHECK(pool().item() == 1);
  }
  for (int bits = 0; bits < 32; ++bits) {
    const auto extent = [&](int bit) { return Index{bits >> bit & 1}; };
    const Tensor x = ones({extent(0), extent(1), extent(2)});
    const Tensor w = ones({extent(3), extent(1), extent(4)});
    INFO("conv1d of " << x.shape() << " by " << w.shape());
    if (extent(2) == 0 || extent(4) == 0)
      CHECK_THROWS_AS(conv1d(x, w), Error);
    else
      CHECK(conv1d(x, w).shape() == Shape{extent(0), extent(3), 1});
  }
  for (const Index rows_of : {0, 1})  // windows of norms
    for (const Index extent : {0, 1})
      for (const int radius : {0, 1, 3}) {
        const Tensor x = zeros({rows_of, extent});
        const NormField window{.window = {-1}, .radius = radius};
        CHECK(normalize(x, both(window)).shape() == x.shape());
        const NormField image{.axes = {1}, .window = {2, 3}, .radius = radius};
        CHECK(normalize(zeros({rows_of, extent, extent, 1}), both(image)).size() == x.size());
      }
}
