#include <catch2/catch.hpp>

#include <cmath>

#include "support/golden.h"
#include "tapegrad/nn/layers/conv.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

// The greatest size of a value in both parameters of a layer.
template <class Net>
double bound(const Net& net) {
  return std::max(max(abs(net.weight.value())).item(), max(abs(net.bias.value())).item());
}

template <class Net>
void check_gradients(const Net& net, const Tensor& x) {
  const Tape tape;
  const Tensor y = net(x);
  const std::vector<Tensor> found = grad(sum(y), parameters(net));
  REQUIRE(found.size() == 2);
  const Index channels = y.shape()[1];
  for (Index i = 0; i < channels; ++i)
    CHECK(found[1].data()[i] == static_cast<real>(y.size() / channels));
}

}  // namespace

TEST_CASE("layers of convolutions have the shapes and first values of PyTorch's", "[nn]") {
  Random random(1);
  const Conv2d plain(8, 12, 3, random, {.stride = 2, .padding = 2, .dilation = 2, .groups = 4});
  CHECK(plain.weight.shape() == Shape{12, 2, 3, 3});
  CHECK(plain(zeros({2, 8, 9, 9})).shape() == Shape{2, 12, 5, 5});
  CHECK(bound(plain) == Approx(1 / std::sqrt(18.0)).epsilon(0.05));
  const Conv1d line(6, 10, 5, random, {.padding = 2, .groups = 2});
  CHECK(line.weight.shape() == Shape{10, 3, 5});
  CHECK(line(zeros({2, 6, 7})).shape() == Shape{2, 10, 7});
  CHECK(bound(line) == Approx(1 / std::sqrt(15.0)).epsilon(0.05));
  const ConvTranspose2d up(6, 10, 3, random,
                           {.stride = 2, .padding = 1, .output_padding = 1, .groups = 2});
  CHECK(up.weight.shape() == Shape{6, 5, 3, 3});
  CHECK(up(zeros({2, 6, 4, 5})).shape() == Shape{2, 10, 8, 10});
  CHECK(bound(up) == Approx(1 / std::sqrt(45.0)).epsilon(0.05));
}

TEST_CASE("layers of convolutions add their bias to every position of a channel", "[nn]") {
  Random random(2);
  check_gradients(Conv2d(2, 4, 3, random, {.groups = 2}), random.normal({2, 2, 5, 5}));
  check_gradients(Conv1d(2, 3, 3, random, {.dilation = 2}), random.normal({2, 2, 7}));
  check_gradients(ConvTranspose2d(2, 3, 2, random, {.stride = 2}), random.normal({2, 2, 3, 3}));
  const Conv1d bare(2, 3, 3, random, {.bias = false});
  CHECK(parameters(bare).size() == 1);
  CHECK(relative_error(bare(ones({1, 2, 3})), conv1d(ones({1, 2, 3}), bare.weight)) == 0);
  CHECK(parameters(ConvTranspose2d(2, 3, 3, random, {.bias = false})).size() == 1);
}

TEST_CASE("layers of convolutions take a number for each axis of an image", "[nn]") {
  Random random(4);
  const Conv2d wide(2, 3, {1, 5}, random, {.stride = {1, 2}, .padding = {0, 2}});
  CHECK(wide.weight.shape() == Shape{3, 2, 1, 5});
  CHECK(wide(zeros({1, 2, 6, 6})).shape() == Shape{1, 3, 6, 3});
  CHECK(bound(wide) <= 1 / std::sqrt(10.0));
  const ConvTranspose2d up(2, 3, {2, 4}, random, {.stride = {1, 3}, .output_padding = {0, 2}});
  CHECK(up.weight.shape() == Shape{2, 3, 2, 4});
  CHECK(up(zeros({1, 2, 3, 3})).shape() == Shape{1, 3, 4, 12});
  CHECK(MaxPool2d{{.size = {2, 3}}}(zeros({1, 2, 6, 6})).shape() == Shape{1, 2, 3, 2});
  CHECK_THROWS_WITH(Conv2d(2, 3, {1, 0}, random), "Conv2d: size must be at least 1: 0");
  CHECK_THROWS_WITH(Conv2d(2, 3, 3, random, {.padding = {0, -1}}), Contains("padding"));
  CHECK_THROWS_WITH(ConvTranspose2d(2, 3, 3, random, {.output_padding = {0, 1}}),
                    Contains("output_padding must lie in [0, stride): 1 with stride 1"));
  CHECK_THROWS_WITH(Conv1d(2, 3, 3, random, {.stride = {2, 1}}),
                    "Conv1d: one axis takes one stride, not two: 2, 1");
}

TEST_CASE("layers of convolutions refuse groups that do not divide their channels", "[nn]") {
  Random random(3);
  CHECK_THROWS_WITH(Conv2d(3, 4, 3, random, {.groups = 2}),
                    "Conv2d: 2 groups do not divide 3 channels");
  CHECK_THROWS_WITH(Conv1d(4, 3, 3, random, {.groups = 2}),
                    "Conv1d: 2 groups do not divide 3 channels");
  CHECK_THROWS_WITH(ConvTranspose2d(4, 3, 3, random, {.groups = 0}), Contains("0 groups"));
}
