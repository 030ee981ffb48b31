#include "tapegrad/nn/functions/pool.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "support/golden.h"
#include "support/values.h"
#include "tapegrad/core/random.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

TEST_CASE("max pooling finds the first greatest element of every window", "[ops]") {
  Random random(3);
  for (const Index width : {9, 70})  // fewer and more windows than a vector has lanes
    for (const Index size : {1, 2, 3, 5})
      for (const Index stride : {1, 2, 3, 4})
        for (const Index padding : {Index{0}, size / 2}) {
          INFO("width " << width << ", size " << size << ", stride " << stride << ", padding "
                        << padding);
          // Few distinct values, so that there are ties; -inf among them.
          Tensor x = random.uniform({2, 3, 11, width}, 0, 4);
          for (Index i = 0; i < x.size(); ++i) {
            real& value = x.mutable_data()[i];
            value = value < 1 ? -infinity : std::floor(value);
          }
          const Tape tape;
          const Tensor in = watch(x);
          const Tensor y = max_pool2d(in, {.size = size, .stride = stride, .padding = padding});
          std::vector<real> wins(x.size());
          Index at = 0, wrong = 0;
          for (Index plane = 0; plane < 6; ++plane)
            for (Index r = 0; r < y.shape()[2]; ++r)
              for (Index c = 0; c < y.shape()[3]; ++c, ++at) {
                Index winner = -1;
                for (Index i = 0; i < size; ++i)
                  for (Index j = 0; j < size; ++j) {
                    const Index row = r * stride - padding + i, column = c * stride - padding + j;
                    if (row < 0 || row >= 11 || column < 0 || column >= width) continue;
                    const Index candidate = (plane * 11 + row) * width + column;
                    if (winner < 0 || x.data()[candidate] > x.data()[winner]) winner = candidate;
                  }
                wrong += y.data()[at] != x.data()[winner];
                wins[winner] += 1;
              }
          CHECK(wrong == 0);
          const Tensor found = grad(y, in, {.seed = ones(y.shape())});
          CHECK(std::equal(wins.begin(), wins.end(), found.data()));
        }
}

TEST_CASE("pools cover an image with windows of any extents", "[ops]") {
  const Tensor x({1, 1, 3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  CHECK(is(max_pool2d(x, {.size = {1, 2}}), {1, 1, 3, 2}, {2, 4, 6, 8, 10, 12}));
  CHECK(is(max_pool2d(x, {.size = {2, 1}}), {1, 1, 1, 4}, {5, 6, 7, 8}));
  CHECK(is(max_pool2d(x, {.size = {2, 4}, .ceil_mode = true}), {1, 1, 2, 1}, {8, 12}));
  CHECK(is(avg_pool2d(x, {.size = {2, 4}, .ceil_mode = true}), {1, 1, 2, 1}, {4.5, 10.5}));
  // A last window that would begin after the image is left out.
  CHECK(max_pool2d(x, {.size = 1, .stride = {4, 3}, .ceil_mode = true}).shape() ==
        Shape{1, 1, 1, 2});
  const Tensor line({1, 1, 4}, {1, 2, 3, 4});
  CHECK(is(max_pool1d(line), {1, 1, 2}, {2, 4}));
  CHECK(is(avg_pool1d(line, {.stride = 1}), {1, 1, 3}, {1.5, 2.5, 3.5}));
  CHECK(is(avg_pool1d(line, {.stride = 3, .padding = 1}), {1, 1, 2}, {0.5, 3.5}));
  CHECK(is(avg_pool1d(line, {.stride = 3, .padding = 1, .count_include_pad = false}), {1, 1, 2},
           {1, 3.5}));
  CHECK(max_pool2d(zeros({0, 2, 4, 4})).shape() == Shape{0, 2, 2, 2});
}

TEST_CASE("adaptive pools cover the whole image with windows of their own extents", "[ops]") {
  const Tensor line({1, 1, 5}, {1, 9, 3, 7, 5});
  CHECK(is(adaptive_max_pool1d(line, 2), {1, 1, 2}, {9, 7}));
  CHECK(is(adaptive_avg_pool1d(line, 5), {1, 1, 5}, {1, 9, 3, 7, 5}));
  CHECK(is(adaptive_avg_pool1d(line, 1), {1, 1, 1}, {5}));
  const Tensor tied({1, 1, 2, 2}, {3, 3, 3, 3});
  const Tape tape;
  const Tensor in = watch(tied);
  CHECK(is(grad(sum(adaptive_max_pool2d(in, 1)), in), {1, 1, 2, 2}, {1, 0, 0, 0}));
  const Tensor spoilt({1, 1, 4}, {no_number, 1, 2, 3});
  CHECK(std::isnan(adaptive_max_pool1d(spoilt, 2).data()[0]));
  CHECK(adaptive_avg_pool1d(spoilt, 2).data()[1] == 2.5);  // the other window is not spoilt
}

TEST_CASE("pools refuse what does not fit", "[ops]") {
  const Tensor image = zeros({1, 2, 3, 3}), line = zeros({1, 2, 3});
  CHECK_THROWS_WITH(max_pool2d(line), Catch::StartsWith("max_pool2d: needs (N, C, H, W): "));
  CHECK_THROWS_WITH(avg_pool1d(image), Catch::StartsWith("avg_pool1d: needs (N, C, L): "));
  CHECK_THROWS_WITH(max_pool2d(image, {.size = {2, 4}}),
                    Catch::StartsWith("max_pool2d: a window of 4 does not fit (1, 2, 3, 3) with "
                                      "padding 0 ["));
  CHECK_THROWS_WITH(avg_pool2d(image, {.size = {2, 3}, .padding = {2, 1}}),
                    Contains("avg_pool2d: padding 2 is more than half of size 2"));
  CHECK_THROWS_WITH(max_pool2d(image, {.stride = -1}), Contains("stride must be at least 1"));
  CHECK_THROWS_WITH(max_pool2d(image, {.size = 0}), Contains("size and stride"));
  CHECK_THROWS_WITH(
      max_pool2d(image, {.count_include_pad = false}),
      Catch::StartsWith("max_pool2d: count_include_pad has no effect: false; leave it "
                        "out ["));
  CHECK_THROWS_WITH(max_pool1d(line, {.size = {2, 3}}),
                    Catch::StartsWith("max_pool1d: one axis takes one size, not two: 2, 3 ["));
  CHECK_THROWS_WITH(adaptive_max_pool2d(image, {2, 0}),
                    Catch::StartsWith("adaptive_max_pool2d: a size must be at least 1: 0 ["));
  CHECK_THROWS_WITH(adaptive_avg_pool2d(line, 1), Contains("needs (N, C, H, W)"));
  CHECK_THROWS_WITH(adaptive_max_pool1d(image, 1), Contains("needs (N, C, L)"));
  for (const auto pool : {adaptive_avg_pool2d, adaptive_max_pool2d})
    CHECK_THROWS_WITH(pool(zeros({1, 2, 0, 3}), 1, Place::here()),
                      Contains("an image without elements: (1, 2, 0, 3)"));
}
