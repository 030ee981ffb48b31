#include "support/options.h"
#include "tapegrad/core/error.h"
#include "tapegrad/nn/functions/attention.h"
#include "tapegrad/nn/functions/conv.h"
#include "tapegrad/nn/functions/divisive.h"
#include "tapegrad/nn/functions/loss.h"
#include "tapegrad/nn/functions/pool.h"
#include "tapegrad/nn/layers/init.h"
#include "tapegrad/ops/affine.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/norm.h"
#include "tapegrad/ops/normalize.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

TEST_CASE("operations refuse numbers that make no sense", "[ops][options]") {
  const Tensor x = ones({2, 4}), sequence = ones({1, 2, 4});
  check({
      {[&] { layer_norm(x, {.epsilon = 0}); }, ""},
      {[&] { layer_norm(x, {.epsilon = -1}); },
       "layer_norm: epsilon must be finite and at least 0: -1"},
      {[&] { rms_norm(x, {.epsilon = no_number}); },
       "rms_norm: epsilon must be finite and at least 0: nan"},
      {[&] { affine_norm(x, both({.axes = {-1}}), ones({4}), {}, {.epsilon = infinity}); },
       "affine_norm: epsilon must be finite and at least 0: inf"},
      {[&] { centered_l1(x, {.axes = {-1}, .share = 2}); },
       "centered_l1: the share must lie in (0, 1]: 2"},
      {[&] { ada_scale(x, {.factor = 0, .slope = 0}); }, ""},
      {[&] { ada_scale(x, {.factor = no_number}); },
       "ada_scale: factor and slope must be finite: nan, 0.1"},
      {[&] {
         divisive_norm(x, ones({4, 4}), ones({4, 4}), {.smoothing = no_number});
       },
       "divisive_norm: the smoothing must be finite: nan"},
      {[&] {
         divisive_norm(x, ones({4, 4}), ones({4, 4}), {.exponent = infinity});
       },
       "divisive_norm: the exponent must be finite and positive: inf"},
      {[&] { attention(sequence, sequence, sequence, {.scale = no_number}); },
       "attention: the scale must be finite: nan"},
      {[&] { rotary(sequence, 1); }, ""},
      {[&] { rotary(sequence, 1, 0, 0); }, "rotary: the base must be finite and positive: 0"},
      {[&] { rotary(sequence, 1, 0, no_number); },
       "rotary: the base must be finite and positive: nan"},
  });
}

TEST_CASE("random numbers refuse distributions that are none", "[ops][options]") {
  check({
      {[] { draws().uniform({2}, 1, 1); }, ""},
      {[] { draws().uniform({2}, 2, 1); },
       "uniform: the bounds must be finite and ascending: 2, 1"},
      {[] { draws().uniform({2}, no_number, 1); },
       "uniform: the bounds must be finite and ascending: nan, 1"},
      {[] { draws().uniform({2}, 0, infinity); },
       "uniform: the bounds must be finite and ascending: 0, inf"},
      {[] { draws().normal({2}, 1, 0); }, ""},
      {[] { draws().normal({2}, 0, -1); },
       "normal: mean and deviation must be finite, the deviation not negative: 0, -1"},
      {[] { draws().normal({2}, no_number); },
       "normal: mean and deviation must be finite, the deviation not negative: nan, 1"},
      {[] { draws().choices(-1, 0.5); }, "choices: count must not be negative: -1"},
      {[] { draws().bernoulli({2}, no_number); },
       "bernoulli: the probability must lie in [0, 1]: nan"},
      {[] {
         xavier_uniform({3, 3}, draws(), -1);
       },
       "uniform: the bounds must be finite and ascending: 1, -1"},
      {[] {
         xavier_normal({2, 2}, draws(), -1);
       },
       "normal: mean and deviation must be finite, the deviation not negative: 0, "
       "-0.7071067811865476"},
  });
}

TEST_CASE("errors name the operation and the shapes", "[ops]") {
  const Tensor a = zeros({2, 3}), b = zeros({4, 5});
  CHECK_THROWS_WITH(a + b, Catch::StartsWith("add: shapes do not broadcast: (2, 3) and (4, 5) ["));
  CHECK_THROWS_WITH(matmul(a, b),
                    Catch::StartsWith("matmul: inner sizes differ: (2, 3) x (4, 5) ["));
  CHECK_THROWS_WITH(matmul(a, Tensor(1.0)), Contains("matrices") && Contains("(2, 3) x ()"));
  CHECK_THROWS_WITH(matmul(zeros({3}), a), Contains("inner sizes differ: (3) x (2, 3)"));
  CHECK_THROWS_WITH(matmul(zeros({2}), a, {.a = true}), Contains("(2) transposed x (2, 3)"));
  CHECK_THROWS_WITH(reshape(a, {4, 2}),
                    Catch::StartsWith("reshape: sizes differ: (2, 3) to (4, 2) ["));
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
  CHECK_THROWS_WITH(mse(a, b), Catch::StartsWith("mse: shapes differ: (2, 3) and (4, 5) ["));
  CHECK_THROWS_WITH(conv2d(zeros({1, 2, 3, 3}), zeros({1, 1, 2, 2})), Contains("channels differ"));
  CHECK_THROWS_WITH(conv2d(zeros({1, 1, 3, 3}), zeros({1, 1, 5, 5})), Contains("does not fit"));
  CHECK_THROWS_WITH(max_pool2d(a), Contains("(N, C, H, W)") && Contains("(2, 3)"));
  CHECK_THROWS_WITH(clamp(a, 1, 0), Contains("clamp"));
  CHECK_THROWS_WITH(masked_fill(a, zeros({2, 2, 3}), 0), Contains("(2, 2, 3)"));
  CHECK_THROWS_WITH(a.item(), Contains("(2, 3)"));
}
