#include "tapegrad/nn/functions/conv.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "support/golden.h"
#include "support/restore_threads.h"
#include "support/values.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/random.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/derivatives.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

TEST_CASE("convolutions refuse windows, groups and dilations that do not fit", "[ops]") {
  const Tensor image = zeros({1, 4, 5, 5}), weight = zeros({6, 2, 3, 3});
  CHECK(conv2d(image, weight, {.groups = 2}).shape() == Shape{1, 6, 3, 3});
  CHECK_THROWS_WITH(
      conv2d(image, weight),
      Catch::StartsWith("conv2d: channels differ: (1, 4, 5, 5) and (6, 2, 3, 3), groups 1 ["));
  CHECK_THROWS_WITH(conv2d(image, weight, {.groups = 3}), Contains("3 groups do not divide"));
  CHECK_THROWS_WITH(conv2d(image, zeros({3, 2, 3, 3}), {.groups = 2}),
                    Contains("2 groups do not divide") && Contains("(3, 2, 3, 3)"));
  CHECK_THROWS_WITH(conv2d(image, weight, {.groups = 0}), Contains("0 groups do not divide"));
  CHECK_THROWS_WITH(conv2d(image, weight, {.dilation = 0, .groups = 2}),
                    Catch::StartsWith("conv2d: dilation must be at least 1: 0 ["));
  CHECK_THROWS_WITH(
      conv2d(image, weight, {.dilation = 3, .groups = 2}),
      Catch::StartsWith("conv2d: a window of 7 does not fit (1, 4, 5, 5) with padding 0 ["));
  CHECK(conv2d(image, weight, {.padding = 1, .dilation = 3, .groups = 2}).shape() ==
        Shape{1, 6, 1, 1});
}

TEST_CASE("a convolution along one axis pads that axis alone", "[ops]") {
  const Tensor y = conv1d(Tensor({1, 1, 3}, {1, 2, 3}), Tensor({1, 1, 2}, {1, 10}), {.padding = 2});
  CHECK(y.shape() == Shape{1, 1, 6});
  CHECK(is(y, {0, 10, 21, 32, 3, 0}));
  CHECK(conv1d(zeros({0, 2, 5}), zeros({3, 2, 3})).shape() == Shape{0, 3, 3});
  CHECK_THROWS_WITH(conv1d(zeros({2, 5}), zeros({3, 2, 3})), Contains("conv1d: needs (N, C, L)"));
  CHECK_THROWS_WITH(conv1d(zeros({1, 2, 5}), zeros({3, 3, 3})),
                    Contains("conv1d: channels differ"));
  CHECK_THROWS_WITH(conv1d(zeros({1, 2, 5}), zeros({3, 2, 6})),
                    Contains("conv1d: a window of 6 does not fit"));
  CHECK_THROWS_WITH(conv1d(zeros({1, 2, 5}), zeros({3, 2, 2}), {.stride = 0}),
                    Contains("conv1d: size and stride must be at least 1"));
}

TEST_CASE("a convolution moves along height and width by numbers of their own", "[ops]") {
  const Tensor image({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), sum_of_two = ones({1, 1, 1, 2});
  CHECK(is(conv2d(image, sum_of_two, {.stride = {2, 1}}), {3, 5, 7}));
  CHECK(is(conv2d(image, sum_of_two, {.stride = {1, 2}}), {3, 7, 11, 15}));
  CHECK(is(conv2d(image, sum_of_two, {.dilation = {5, 3}}), {5, 13}));
  CHECK(conv2d(image, sum_of_two, {.padding = {2, 1}}).shape() == Shape{1, 1, 6, 5});
  CHECK(conv_transpose2d(image, sum_of_two, {.stride = {3, 2}, .output_padding = {2, 0}}).shape() ==
        Shape{1, 1, 6, 8});
  CHECK_THROWS_WITH(conv2d(image, sum_of_two, {.stride = {1, 0}}), Contains("at least 1"));
  CHECK_THROWS_WITH(conv2d(image, sum_of_two, {.padding = {-1, 0}}), Contains("at least 0"));
  CHECK_THROWS_WITH(conv2d(image, sum_of_two, {.dilation = {0, 1}}), Contains("dilation"));
  CHECK_THROWS_WITH(
      conv_transpose2d(image, sum_of_two, {.stride = {1, 2}, .output_padding = {1, 1}}),
      Contains("output padding must lie in [0, stride): 1 with stride 1"));
  CHECK_THROWS_WITH(conv1d(zeros({1, 1, 5}), ones({1, 1, 2}), {.stride = {2, 1}}),
                    Catch::StartsWith("conv1d: one axis takes one stride, not two: 2, 1 ["));
}

TEST_CASE("a transposed convolution undoes the shape of a convolution", "[ops]") {
  Random random(3);
  for (const Index height : {6, 7}) {  // both give 3 lines at stride 2
    const Tensor x = random.normal({2, 3, height, 6}), weight = random.normal({4, 3, 2, 2});
    const Tensor y = conv2d(x, weight, {.stride = 2});
    CHECK(y.shape() == Shape{2, 4, 3, 3});
    const Tensor back = conv_transpose2d(y, weight, {.stride = 2, .output_padding = height - 6});
    CHECK(back.shape() == Shape{2, 3, height, height});
    if (height == 6)  // <conv x, y> = <x, transpose y>
      CHECK(sum(square(y)).item() == Approx(sum(x * back).item()).epsilon(1e-4));
  }
  CHECK(is(conv_transpose2d(Tensor({1, 1, 1, 2}, {1, 2}), Tensor({1, 1, 1, 2}, {1, 10})),
           {1, 12, 20}));
  CHECK(conv_transpose2d(zeros({0, 2, 3, 3}), zeros({2, 5, 2, 2})).shape() == Shape{0, 5, 4, 4});
}

TEST_CASE("a transposed convolution refuses what does not fit", "[ops]") {
  const Tensor x = zeros({1, 2, 3, 3}), weight = zeros({2, 4, 2, 2});
  CHECK_THROWS_WITH(conv_transpose2d(zeros({2, 3}), weight),
                    Contains("conv_transpose2d: needs (N, C, H, W)") && Contains("(2, 3)"));
  CHECK_THROWS_WITH(
      conv_transpose2d(x, zeros({4, 2, 2, 2})),
      Catch::StartsWith("conv_transpose2d: channels differ: (1, 2, 3, 3) and (4, 2, 2, 2) ["));
  CHECK_THROWS_WITH(
      conv_transpose2d(x, weight, {.groups = 3}),
      Catch::StartsWith("conv_transpose2d: 3 groups do not divide the channels of (1, 2, 3, 3) ["));
  CHECK_THROWS_WITH(
      conv_transpose2d(x, weight, {.stride = 2, .output_padding = 2}),
      Catch::StartsWith(
          "conv_transpose2d: output padding must lie in [0, stride): 2 with stride 2"));
  CHECK_THROWS_WITH(
      conv_transpose2d(x, weight, {.padding = 2}),
      Catch::StartsWith("conv_transpose2d: padding 2 leaves nothing of (1, 2, 3, 3) ["));
  CHECK_THROWS_WITH(conv_transpose2d(x, weight, {.padding = -1}), Contains("padding at least 0"));
  CHECK_THROWS_WITH(conv_transpose2d(x, weight, {.dilation = 0}), Contains("dilation"));
  CHECK_THROWS_WITH(conv_transpose2d(zeros({1, 2, 0, 3}), weight),
                    Contains("conv_transpose2d: ") && Contains("(1, "));
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

TEST_CASE("derivatives of convolutions of the third order", "[ops]") {
  // The second derivative is checked for every row; here its gradient once more.
  Random random(5);
  const Tensor x = random.normal({1, 2, 4, 4}), weight = random.normal({2, 1, 2, 2});
  const Function twice = [](const std::vector<Tensor>& in) {
    const Tensor y = conv_transpose2d(in[0], in[1], {.stride = 2, .groups = 2});
    return conv2d(square(y), in[1], {.dilation = 2, .groups = 2});
  };
  const Function gradient = [&](const std::vector<Tensor>& in) {
    return vjp(twice, {in[0], in[1]}, in[2])[1];
  };
  const Tensor seed = random.normal(twice({x, weight}).shape());
  const CheckOptions loose{.tolerance = sizeof(real) == 8 ? 1e-6 : 5e-2};
  CHECK(check_second_gradient(gradient, {x, weight, seed}, loose));
}

TEST_CASE("convolutions in groups are the same for any number of threads", "[ops][threads]") {
  Random random(6);
  const Tensor x = random.normal({9, 4, 12, 12}), weight = random.normal({4, 2, 3, 3});
  const RestoreThreads after;
  const Function both = [](const std::vector<Tensor>& in) {
    const Tensor y = conv2d(in[0], in[1], {.dilation = 2, .groups = 2});
    return conv_transpose2d(y, in[1], {.stride = 2, .groups = 2});
  };
  const auto all = [&] {
    const Tensor y = both({x, weight});
    std::vector<Tensor> found = vjp(both, {x, weight}, ones(y.shape()));
    found.push_back(y);
    return found;
  };
  set_threads(1);
  const std::vector<Tensor> one = all();
  for (const int count : {2, 3, 7, 16, 50}) {
    set_threads(count);
    const std::vector<Tensor> several = all();
    for (std::size_t i = 0; i < one.size(); ++i) CHECK(same_bits(several[i], one[i]));
  }
}

// Sums of equal terms: each rounding has the same sign, so errors add up.
TEST_CASE("the error of a filter's gradient does not grow with images or positions", "[ops]") {
  constexpr double bound = 50 * std::numeric_limits<real>::epsilon();
  for (const Shape& images : {Shape{1'000'000, 1, 1, 1}, Shape{1, 1, 1, 1'000'000}}) {
    const Tape tape;
    const Tensor filter = watch(ones({1, 1, 1, 1}));
    const Tensor slope = grad(sum(conv2d(full(images, 0.1), filter)), filter);
    CHECK(std::abs(slope.item() / (1e6 * static_cast<double>(real(0.1))) - 1) < bound);
  }
}
