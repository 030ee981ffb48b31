#include "tapegrad/ops/conv.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "tapegrad/core/error.h"
#include "tapegrad/core/indices.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/kernels/conv.h"
#include "tapegrad/ops/kernels/pool.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// The number of windows of `size` along an axis of the padded image.
Index window_count(const char* operation, const Shape& shape, Index extent, Index size,
                   Index stride, Index padding) {
  expect<ArgumentError>(stride >= 1 && padding >= 0 && size >= 1,
                        "{}: size and stride must be at least 1, padding at least 0: {}, {}, {}",
                        operation, size, stride, padding);
  expect(extent + 2 * padding >= size, "{}: a window of {} does not fit {} with padding {}",
         operation, size, shape, padding);
  return (extent + 2 * padding - size) / stride + 1;
}

// The operation's name for messages, and how its window moves: as in ConvOptions, except that an
// image of one line has no padding above and below.
struct Window {
  const char* operation;
  Index stride, top, left, dilation, groups;
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

kernels::ConvSizes conv_sizes(const Shape& x, const Shape& weight, const Window& window) {
  const auto [operation, stride, top, left, dilation, groups] = window;
  const Index rows = reach(operation, weight[2], dilation);
  const Index columns = reach(operation, weight[3], dilation);
  return {.batch = x[0],
          .channels = x[1],
          .height = x[2],
          .width = x[3],
          .filters = weight[0],
          .rows = weight[2],
          .columns = weight[3],
          .stride = stride,
          .top = top,
          .left = left,
          .dilation = dilation,
          .groups = groups,
          .out_height = window_count(operation, x, x[2], rows, stride, top),
          .out_width = window_count(operation, x, x[3], columns, stride, left)};
}

// The extent of an image in which a window has `count` positions and leaves `unused` elements.
Index image_extent(const Shape& result, Index count, Index size, const Window& window,
                   Index unused) {
  const Index covered = reach(window.operation, size, window.dilation);
  const Index extent = (count - 1) * window.stride - 2 * window.top + covered + unused;
  expect(extent >= 1, "{}: padding {} leaves nothing of {}", window.operation, window.top, result);
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
  Tensor y = Tensor::uninitialized({sizes.batch, sizes.filters, sizes.out_height, sizes.out_width});
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
  const PlaceScope caller(place);
  expect_defined("conv2d", x, weight);
  expect(x.rank() == 4 && weight.rank() == 4,
         "conv2d: needs (N, C, H, W) and (O, C / groups, R, S): {} and {}", x.shape(),
         weight.shape());
  const auto [stride, padding, dilation, groups] = options;
  expect_channels("conv2d", x.shape(), weight.shape(), groups);
  return correlate(x, weight, {"conv2d", stride, padding, padding, dilation, groups}, place);
}

Tensor conv1d(const Tensor& x, const Tensor& weight, ConvOptions options, Place place) {
  const PlaceScope caller(place);
  expect_defined("conv1d", x, weight);
  expect(x.rank() == 3 && weight.rank() == 3,
         "conv1d: needs (N, C, L) and (O, C / groups, R): {} and {}", x.shape(), weight.shape());
  const auto [stride, padding, dilation, groups] = options;
  expect_channels("conv1d", x.shape(), weight.shape(), groups);
  // An image and windows of one line.
  const Tensor y =
      correlate(reshape(x, x.shape().insert(2, 1)), reshape(weight, weight.shape().insert(2, 1)),
                {"conv1d", stride, 0, padding, dilation, groups});
  return reshape(y, y.shape().without(2));
}

Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, ConvTransposeOptions options,
                        Place place) {
  const PlaceScope caller(place);
  expect_defined("conv_transpose2d", x, weight);
  const Shape &from = x.shape(), &filters = weight.shape();
  expect(from.rank() == 4 && filters.rank() == 4,
         "conv_transpose2d: needs (N, C, H, W) and (C, O / groups, R, S): {} and {}", from,
         filters);
  const auto [stride, padding, output_padding, dilation, groups] = options;
  expect(from[1] == filters[0], "conv_transpose2d: channels differ: {} and {}", from, filters);
  expect(groups >= 1 && from[1] % groups == 0,
         "conv_transpose2d: {} groups do not divide the channels of {}", groups, from);
  expect<ArgumentError>(
      stride >= 1 && output_padding >= 0 && output_padding < stride,
      "conv_transpose2d: output padding must lie in [0, stride): {} with stride {}", output_padding,
      stride);
  const Window window{"conv_transpose2d", stride, padding, padding, dilation, groups};
  const Shape image{from[0], filters[1] * groups,
                    image_extent(from, from[2], filters[2], window, output_padding),
                    image_extent(from, from[3], filters[3], window, output_padding)};
  return correlate_input("conv_transpose2d", x, weight, image, window, place);
}

Tensor max_pool2d(const Tensor& x, PoolOptions options, Place place) {
  const PlaceScope caller(place);
  expect_defined("max_pool2d", x);
  expect(x.rank() == 4, "max_pool2d: needs (N, C, H, W): {}", x.shape());
  expect<ArgumentError>(2 * options.padding <= options.size,
                        "max_pool2d: padding {} is more than half of size {}", options.padding,
                        options.size);
  const auto [size, given_stride, padding] = options;
  const Index stride = given_stride == 0 ? size : given_stride;
  const Index height = x.shape()[2], width = x.shape()[3];
  const Index rows = window_count("max_pool2d", x.shape(), height, size, stride, padding);
  const Index columns = window_count("max_pool2d", x.shape(), width, size, stride, padding);
  expect(height * width <= std::numeric_limits<std::int32_t>::max(),
         "max_pool2d: a plane of {} has too many elements", x.shape());
  Indices winners = Indices::uninitialized({x.shape()[0], x.shape()[1], rows, columns});
  kernels::max_pool({.planes = x.shape()[0] * x.shape()[1],
                     .height = height,
                     .width = width,
                     .size = size,
                     .stride = stride,
                     .padding = padding,
                     .out_height = rows,
                     .out_width = columns},
                    x.data(), winners.mutable_data());
  return take(x, winners, place);
}

Tensor avg_pool2d(const Tensor& x, PoolOptions options, Place place) {
  const PlaceScope caller(place);
  expect_defined("avg_pool2d", x);
  expect(x.rank() == 4, "avg_pool2d: needs (N, C, H, W): {}", x.shape());
  expect<ArgumentError>(2 * options.padding <= options.size,
                        "avg_pool2d: padding {} is more than half of size {}", options.padding,
                        options.size);
  const Index stride = options.stride == 0 ? options.size : options.stride;
  const double share = 1.0 / static_cast<double>(options.size * options.size);
  const Shape planes{x.shape()[0] * x.shape()[1], 1, x.shape()[2], x.shape()[3]};
  const Tensor means = conv2d(reshape(x, planes), full({1, 1, options.size, options.size}, share),
                              {.stride = stride, .padding = options.padding});
  return reshape(means, {x.shape()[0], x.shape()[1], means.shape()[2], means.shape()[3]});
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
