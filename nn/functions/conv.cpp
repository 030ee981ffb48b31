#include "tapegrad/nn/functions/conv.h"

#include "tapegrad/core/error.h"
#include "tapegrad/nn/functions/internal/windows.h"
#include "tapegrad/ops/kernels/conv.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// The operation's name for messages, and how its window moves: as in ConvOptions.
struct Window {
  const char* operation;
  HeightWidth stride, padding, dilation;
  Index groups;
};

// The extent that a dilated window of `size` lines covers.
Index reach(const char* operation, Index size, Index dilation) {
  expect<ArgumentError>(dilation >= 1, "{}: dilation must be at least 1: {}", operation, dilation);
  return size < 1 ? size : dilation * (size - 1) + 1;
}

void expect_channels(const char* operation, const Shape& x, const Shape& weight, Index groups) {
  expect(groups >= 1 && x[1] % groups == 0 && weight[0] % groups == 0,
         "{}: {} groups do not divide the channels of {} and the filters of {}", operation, groups,
         x, weight);
  expect(x[1] == weight[1] * groups, "{}: channels differ: {} and {}, groups {}", operation, x,
         weight, groups);
}

kernels::ConvAxis conv_axis(const char* operation, const Shape& image, int axis, Index size,
                            Index stride, Index padding, Index dilation) {
  const Index covered = reach(operation, size, dilation);
  return {.extent = image[axis],
          .size = size,
          .stride = stride,
          .padding = padding,
          .dilation = dilation,
          .count = window_count(operation, image, axis, {covered, stride, padding})};
}

kernels::ConvSizes conv_sizes(const Shape& x, const Shape& weight, const Window& window) {
  const auto [operation, stride, padding, dilation, groups] = window;
  return {
      .batch = x[0],
      .channels = x[1],
      .filters = weight[0],
      .groups = groups,
      .rows = conv_axis(operation, x, 2, weight[2], stride.height, padding.height, dilation.height),
      .columns =
          conv_axis(operation, x, 3, weight[3], stride.width, padding.width, dilation.width)};
}

// The extent along an axis of the image of which conv2d would make the extent of x.
Index transposed_extent(const Shape& x, int axis, Index size, Index stride, Index padding,
                        Index output_padding, Index dilation) {
  expect<ArgumentError>(
      stride >= 1 && output_padding >= 0 && output_padding < stride,
      "conv_transpose2d: output padding must lie in [0, stride): {} with stride {}", output_padding,
      stride);
  const Index covered = reach("conv_transpose2d", size, dilation);
  const Index extent = (x[axis] - 1) * stride - 2 * padding + covered + output_padding;
  expect(extent >= 1, "conv_transpose2d: padding {} leaves nothing of {}", padding, x);
  return extent;
}

// The cross-correlation and its two transposes are linear in each argument and closed under
// differentiation: the rules of each are the other two.

Tensor correlate(const Tensor& x, const Tensor& weight, const Window& window,
                 Place place = Place::here());
Tensor correlate_weight(const Tensor& x, const Tensor& g, const Shape& weight, const Window& window,
                        Place place = Place::here());

Tensor correlate_input(const char* name, const Tensor& g, const Tensor& weight, const Shape& image,
                       const Window& window, Place place = Place::here()) {
  Tensor dx = Tensor::uninitialized(image);
  kernels::conv_input(conv_sizes(image, weight.shape(), window), g.data(), weight.data(),
                      dx.mutable_data());
  return record(
      name, dx, place,
      edge(g, [weight, window](const Tensor& gg) { return correlate(gg, weight, window); }),
      edge(weight, [g, window, filters = weight.shape()](const Tensor& gg) {
        return correlate_weight(gg, g, filters, window);
      }));
}

Tensor correlate_weight(const Tensor& x, const Tensor& g, const Shape& weight, const Window& window,
                        Place place) {
  Tensor dw = Tensor::uninitialized(weight);
  kernels::conv_weight(conv_sizes(x.shape(), weight, window), x.data(), g.data(),
                       dw.mutable_data());
  const auto to_x = [g, window, image = x.shape()](const Tensor& gg) {
    return correlate_input("conv2d_input", g, gg, image, window);
  };
  const auto to_g = [x, window](const Tensor& gg) { return correlate(x, gg, window); };
  return record("conv2d_weight", dw, place, edge(x, to_x), edge(g, to_g));
}

Tensor correlate(const Tensor& x, const Tensor& weight, const Window& window, Place place) {
  const kernels::ConvSizes sizes = conv_sizes(x.shape(), weight.shape(), window);
  Tensor y =
      Tensor::uninitialized({sizes.batch, sizes.filters, sizes.rows.count, sizes.columns.count});
  kernels::conv_forward(sizes, x.data(), weight.data(), y.mutable_data());
  const auto to_x = [weight, window, image = x.shape()](const Tensor& g) {
    return correlate_input("conv2d_input", g, weight, image, window);
  };
  const auto to_weight = [x, window, filters = weight.shape()](const Tensor& g) {
    return correlate_weight(x, g, filters, window);
  };
  return record("conv2d", y, place, edge(x, to_x), edge(weight, to_weight));
}

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, ConvOptions options, Place place) {
  const OperationScope scope("conv2d", place, x, weight);
  expect(x.rank() == 4 && weight.rank() == 4,
         "conv2d: needs (N, C, H, W) and (O, C / groups, R, S): {} and {}", x.shape(),
         weight.shape());
  const auto [stride, padding, dilation, groups] = options;
  expect_channels("conv2d", x.shape(), weight.shape(), groups);
  return correlate(x, weight, {"conv2d", stride, padding, dilation, groups}, place);
}

Tensor conv1d(const Tensor& x, const Tensor& weight, ConvOptions options, Place place) {
  const OperationScope scope("conv1d", place, x, weight);
  expect(x.rank() == 3 && weight.rank() == 3,
         "conv1d: needs (N, C, L) and (O, C / groups, R): {} and {}", x.shape(), weight.shape());
  expect_channels("conv1d", x.shape(), weight.shape(), options.groups);
  // An image and windows of one line.
  const Tensor y =
      correlate(reshape(x, x.shape().insert(2, 1)), reshape(weight, weight.shape().insert(2, 1)),
                {"conv1d",
                 {1, only_number("conv1d", "stride", options.stride)},
                 {0, only_number("conv1d", "padding", options.padding)},
                 {1, only_number("conv1d", "dilation", options.dilation)},
                 options.groups});
  return reshape(y, y.shape().without(2));
}

Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, ConvTransposeOptions options,
                        Place place) {
  const OperationScope scope("conv_transpose2d", place, x, weight);
  const Shape &from = x.shape(), &filters = weight.shape();
  expect(from.rank() == 4 && filters.rank() == 4,
         "conv_transpose2d: needs (N, C, H, W) and (C, O / groups, R, S): {} and {}", from,
         filters);
  const auto [stride, padding, output_padding, dilation, groups] = options;
  expect(from[1] == filters[0], "conv_transpose2d: channels differ: {} and {}", from, filters);
  expect(groups >= 1 && from[1] % groups == 0,
         "conv_transpose2d: {} groups do not divide the channels of {}", groups, from);
  const Shape image{from[0], filters[1] * groups,
                    transposed_extent(from, 2, filters[2], stride.height, padding.height,
                                      output_padding.height, dilation.height),
                    transposed_extent(from, 3, filters[3], stride.width, padding.width,
                                      output_padding.width, dilation.width)};
  return correlate_input("conv_transpose2d", x, weight, image,
                         {"conv_transpose2d", stride, padding, dilation, groups}, place);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
