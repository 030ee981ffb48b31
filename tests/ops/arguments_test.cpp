#include "support/options.h"
#include "tapegrad/nn/init.h"
#include "tapegrad/ops/affine.h"
#include "tapegrad/ops/attention.h"
#include "tapegrad/ops/divisive.h"
#include "tapegrad/ops/norm.h"

using namespace tapegrad;
using namespace tapegrad::testing;

TEST_CASE("operations refuse numbers that make no sense", "[ops][options]") {
  const Tensor x = ones({2, 4}), sequence = ones({1, 2, 4});
  check({
      {[&] { layer_norm(x, {.epsilon = 0}); }, ""},
      {[&] { layer_norm(x, {.epsilon = -1}); },
       "normalize: epsilon must be finite and at least 0: -1"},
      {[&] { rms_norm(x, {.epsilon = no_number}); },
       "normalize: epsilon must be finite and at least 0: nan"},
      {[&] { affine_norm(x, both({.axes = {-1}}), ones({4}), {}, {.epsilon = infinity}); },
       "normalize: epsilon must be finite and at least 0: inf"},
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
      {[] { draws().uniform({2}, 2, 1); }, "uniform: needs finite bounds in order: 2, 1"},
      {[] { draws().uniform({2}, no_number, 1); }, "uniform: needs finite bounds in order: nan, 1"},
      {[] { draws().uniform({2}, 0, infinity); }, "uniform: needs finite bounds in order: 0, inf"},
      {[] { draws().normal({2}, 1, 0); }, ""},
      {[] { draws().normal({2}, 0, -1); },
       "normal: needs a finite mean and deviation of at least 0: 0, -1"},
      {[] { draws().normal({2}, no_number); },
       "normal: needs a finite mean and deviation of at least 0: nan, 1"},
      {[] { draws().choices(-1, 0.5); }, "choices: a negative count: -1"},
      {[] { draws().bernoulli({2}, no_number); }, "bernoulli: not a probability: nan"},
      {[] {
         xavier_uniform({3, 3}, draws(), -1);
       },
       "uniform: needs finite bounds in order: 1, -1"},
      {[] {
         xavier_normal({2, 2}, draws(), -1);
       },
       "normal: needs a finite mean and deviation of at least 0: 0, -0.7071067811865476"},
  });
}
