#include "tapegrad/nn/layers/conv.h"

#include "tapegrad/core/error.h"
#include "tapegrad/core/options.h"
#include "tapegrad/nn/layers/init.h"
#include "tapegrad/nn/layers/linear.h"
#include "tapegrad/nn/pytorch.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/norm.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// The number of `in` or `out` channels per group.
Index share(const char* layer, const char* side, Index channels, Index groups) {
  expect_positive(layer, side, channels);
  expect<ArgumentError>(groups >= 1 && channels % groups == 0,
                        "{}: {} groups do not divide {} channels", layer, groups, channels);
  return channels / groups;
}

HeightWidth expect_positive_sides(const char* layer, const char* option, HeightWidth value) {
  return {expect_positive(layer, option, value.height),
          expect_positive(layer, option, value.width)};
}

HeightWidth expect_no_negative_side(const char* layer, const char* option, HeightWidth value) {
  return {expect_not_negative(layer, option, value.height),
          expect_not_negative(layer, option, value.width)};
}

void expect_one_axis(const char* layer, const char* option, HeightWidth value) {
  expect<ArgumentError>(value.height == value.width, "{}: one axis takes one {}, not two: {}, {}",
                        layer, option, value.height, value.width);
}

ConvOptions window_of(const char* layer, Index out, HeightWidth size,
                      const Conv2dOptions& options) {
  share(layer, "out", out, options.groups);
  expect_positive_sides(layer, "size", size);
  return {.stride = expect_positive_sides(layer, "stride", options.stride),
          .padding = expect_no_negative_side(layer, "padding", options.padding),
          .dilation = expect_positive_sides(layer, "dilation", options.dilation),
          .groups = options.groups};
}

void expect_output_padding(Index padding, Index stride) {
  expect<ArgumentError>(
      padding < stride,
      "ConvTranspose2d: output_padding must lie in [0, stride): {} with stride {}", padding,
      stride);
}

// Filters have PyTorch's layout. PyTorch's bias has no axes for positions.
void filters_as_pytorch(PyTorchState& state, const Parameter& weight, const Parameter& bias,
                        const Parameter& gain = {}) {
  state(gain.defined() ? "weight_v" : "weight", weight);
  state("weight_g", gain);
  state.reshaped("bias", bias, {bias.shape().size()});
}

Tensor with_bias(const Tensor& y, const Parameter& bias) { return bias.defined() ? y + bias : y; }

}  // namespace

Conv2d::Conv2d(Index in, Index out, HeightWidth size, Random& random, Conv2dOptions options)
    : window(window_of("Conv2d", out, size, options)) {
  const Index seen = share("Conv2d", "in", in, options.groups);
  const Index fan_in = seen * size.height * size.width;
  weight = Parameter(fan_in_uniform({out, seen, size.height, size.width}, fan_in, random));
  if (options.bias) bias = Parameter(fan_in_uniform({out, 1, 1}, fan_in, random));
  if (options.weight_norm) gain = Parameter(norm(weight, {1, 2, 3}, Keep::yes));
}

Tensor Conv2d::operator()(const Tensor& x, Place place) const {
  const PlaceScope caller(place);
  return with_bias(conv2d(x, used_weight(weight, gain, {1, 2, 3}), window), bias);
}

void Conv2d::pytorch(PyTorchState& state) const { filters_as_pytorch(state, weight, bias, gain); }

Conv1d::Conv1d(Index in, Index out, Index size, Random& random, Conv1dOptions options)
    : window(window_of("Conv1d", out, size, options)) {
  expect_one_axis("Conv1d", "stride", options.stride);
  expect_one_axis("Conv1d", "padding", options.padding);
  expect_one_axis("Conv1d", "dilation", options.dilation);
  const Index seen = share("Conv1d", "in", in, options.groups), fan_in = seen * size;
  weight = Parameter(fan_in_uniform({out, seen, size}, fan_in, random));
  if (options.bias) bias = Parameter(fan_in_uniform({out, 1}, fan_in, random));
  if (options.weight_norm) gain = Parameter(norm(weight, {1, 2}, Keep::yes));
}

Tensor Conv1d::operator()(const Tensor& x, Place place) const {
  const PlaceScope caller(place);
  return with_bias(conv1d(x, used_weight(weight, gain, {1, 2}), window), bias);
}

void Conv1d::pytorch(PyTorchState& state) const { filters_as_pytorch(state, weight, bias, gain); }

ConvTranspose2d::ConvTranspose2d(Index in, Index out, HeightWidth size, Random& random,
                                 ConvTranspose2dOptions options)
    : window{.stride = expect_positive_sides("ConvTranspose2d", "stride", options.stride),
             .padding = expect_no_negative_side("ConvTranspose2d", "padding", options.padding),
             .output_padding = expect_no_negative_side("ConvTranspose2d", "output_padding",
                                                       options.output_padding),
             .dilation = expect_positive_sides("ConvTranspose2d", "dilation", options.dilation),
             .groups = options.groups} {
  expect_positive_sides("ConvTranspose2d", "size", size);
  expect_output_padding(options.output_padding.height, options.stride.height);
  expect_output_padding(options.output_padding.width, options.stride.width);
  share("ConvTranspose2d", "in", in, options.groups);
  const Index made = share("ConvTranspose2d", "out", out, options.groups);
  const Index fan_in = made * size.height * size.width;
  weight = Parameter(fan_in_uniform({in, made, size.height, size.width}, fan_in, random));
  if (options.bias) bias = Parameter(fan_in_uniform({out, 1, 1}, fan_in, random));
}

Tensor ConvTranspose2d::operator()(const Tensor& x, Place place) const {
  const PlaceScope caller(place);
  return with_bias(conv_transpose2d(x, weight, window), bias);
}

void ConvTranspose2d::pytorch(PyTorchState& state) const {
  filters_as_pytorch(state, weight, bias);
}

Tensor Flatten::operator()(const Tensor& x, Place place) const {
  const OperationScope scope("flatten", place, x);
  return reshape(x, {x.shape()[0], x.shape().count(1, x.rank())});
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
