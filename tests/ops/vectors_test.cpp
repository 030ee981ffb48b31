#include <catch2/catch.hpp>
#include <functional>
#include <limits>

#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"
#include "tapegrad/nn/conv.h"
#include "tapegrad/nn/linear.h"
#include "tapegrad/nn/norm.h"
#include "tapegrad/nn/transformer.h"
#include "tapegrad/ops/affine.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/divisive.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/loss.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/norm.h"
#include "tapegrad/ops/order.h"
#include "tapegrad/ops/reduce.h"
#include "tapegrad/ops/softmax.h"

using namespace tapegrad;
using Catch::Contains;

namespace {

double distance(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  return a.size() == 0 ? 0 : max(abs(a - b)).item();
}

}  // namespace

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
      [&](const Tensor& v) { return centred_l1(v, {.window = {-1}, .radius = 1}); },
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

TEST_CASE("a vector is a row on the left and a column on the right", "[ops]") {
  Random random(2);
  const Tensor v = random.normal({3}), m = random.normal({3, 4}), batch = random.normal({2, 5, 3});
  CHECK(distance(matmul(v, m), reshape(matmul(reshape(v, {1, 3}), m), {4})) == 0);
  CHECK(distance(matmul(batch, v), reshape(matmul(batch, reshape(v, {3, 1})), {2, 5})) == 0);
  CHECK(distance(matmul(v, random.normal({2, 3, 4})), zeros({2, 4})) > 0);
  CHECK(matmul(v, v).shape() == Shape{});
  CHECK(matmul(v, v).item() == Approx(sum(square(v)).item()));
  for (const auto& [a, b] : {std::pair(v, m), {batch, v}, {v, v}}) {
    const Function product = [](const auto& in) { return matmul(in[0], in[1]); };
    CHECK(check_gradient(product, {a, b}));
    CHECK(check_second_gradient(product, {a, b}));
  }
}

TEST_CASE("the deviation of equal elements has gradient 0", "[ops]") {
  const Tape tape;
  const Tensor x = watch(Tensor({2, 3}, {2, 2, 2, 1, 2, 6}));
  for (const Variance divisor : {Variance::biased, Variance::unbiased}) {
    const Tensor y = stddev(x, -1, Keep::no, divisor);
    const Tensor g = grad(y, x, {.seed = ones({2}), .record = true});
    for (int i = 0; i < 3; ++i) CHECK(g.values()[i] == 0);
    CHECK(g.values()[5] > 0);
    for (const real second : grad(sum(square(g)), x).values()) CHECK(std::isfinite(second));
  }
  const real nan = std::numeric_limits<real>::quiet_NaN();
  CHECK(std::isnan(stddev(Tensor({2}, {nan, 1})).item()));
  CHECK(std::isnan(
      normalize(Tensor({2}, {nan, 1}), both({.axes = {-1}}), {.place = Epsilon::outside_root})
          .values()[1]));
}

TEST_CASE("a transposed convolution may owe its shape to the output padding", "[ops]") {
  const Tensor x({1, 2, 1, 1}, {2, 3}), w({2, 1, 1, 1}, {5, 7});
  const ConvTransposeOptions options{.stride = 3, .padding = 1, .output_padding = 2};
  const Tensor y = conv_transpose2d(x, w, options);
  CHECK(y.shape() == Shape{1, 1, 1, 1});
  CHECK(y.item() == 0);  // what there is lies in the padding
  CHECK_THROWS_WITH(conv_transpose2d(x, w, {.stride = 3, .padding = 1, .output_padding = 1}),
                    Contains("padding 1 leaves nothing"));
  Random random(3);
  const Function f = [&](const auto& in) {
    return conv_transpose2d(in[0], in[1], {.stride = 3, .padding = 2, .output_padding = 2});
  };
  const std::vector<Tensor> inputs{random.normal({1, 2, 2, 2}), random.normal({2, 1, 2, 2})};
  CHECK(f(inputs).shape() == Shape{1, 1, 3, 3});
  CHECK(check_gradient(f, inputs));
  CHECK(check_second_gradient(f, inputs));
}
