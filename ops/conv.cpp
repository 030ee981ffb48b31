#include "tapegrad/ops/conv.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tapegrad/core/error.h"
#include "tapegrad/core/indices.h"
#include "tapegrad/core/parallel.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/kernels/conv.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad {
namespace {

// Windows of `size` along an extent of the padded image.
Index window_count(const char* operation, const Shape& shape, Index extent, Index size,
                   Index stride, Index padding) {
  expect(stride >= 1 && padding >= 0 && size >= 1,
         "{}: size and stride must be at least 1, padding at least 0: {}, {}, {}", operation, size,
         stride, padding);
  expect(extent + 2 * padding >= size, "{}: a window of {} does not fit {} with padding {}",
         operation, size, shape, padding);
  return (extent + 2 * padding - size) / stride + 1;
}

kernels::ConvSizes conv_sizes(const Shape& x, const Shape& weight, ConvOptions options) {
  expect(x.rank() == 4 && weight.rank() == 4,
         "conv2d: needs (N, C, H, W) and (O, C, R, S): {} and {}", x, weight);
  expect(x[1] == weight[1], "conv2d: channels differ: {} and {}", x, weight);
  const auto [stride, padding] = options;
  return {.batch = x[0],
          .channels = x[1],
          .height = x[2],
          .width = x[3],
          .filters = weight[0],
          .rows = weight[2],
          .columns = weight[3],
          .stride = stride,
          .padding = padding,
          .out_height = window_count("conv2d", x, x[2], weight[2], stride, padding),
          .out_width = window_count("conv2d", x, x[3], weight[3], stride, padding)};
}

struct Rows {
  Index top, height;
};
struct Columns {
  Index stride, padding, size, width;
};

// The position of the greatest element of each window of one line of a plane. Without branches:
// which element wins cannot be predicted.
void best_of_line(const real* x, Index plane, Rows rows, Columns c, Index windows, Index* best) {
  const Index first_row = std::max<Index>(rows.top, 0);
  const Index last_row = std::min(rows.top + c.size, rows.height);
  for (Index j = 0; j < windows; ++j) {
    const Index left = j * c.stride - c.padding;
    const Index first = std::max<Index>(left, 0), last = std::min(left + c.size, c.width);
    Index winner = plane + first_row * c.width + first;
    real greatest = x[winner];
    for (Index r = first_row; r < last_row; ++r)
      for (Index at = plane + r * c.width + first; at < plane + r * c.width + last; ++at) {
        const bool wins = static_cast<int>(x[at] > greatest) | static_cast<int>(x[at] != x[at]);
        greatest = wins ? x[at] : greatest;
        winner = wins ? at : winner;
      }
    best[j] = winner;
  }
}

// The cross-correlation and its two transposes are linear in each argument and closed under
// differentiation: the rules of each are the other two.

Tensor conv2d_weight(const Tensor& x, const Tensor& g, const Shape& weight, ConvOptions options,
                     Place place = Place::here());

Tensor conv2d_input(const Tensor& g, const Tensor& weight, const Shape& image, ConvOptions options,
                    Place place = Place::here()) {
  Tensor dx = Tensor::uninitialized(image);
  kernels::conv_input(conv_sizes(image, weight.shape(), options), g.data(), weight.data(),
                      dx.mutable_data());
  return record(
      "conv2d_input", dx, place,
      edge(g, [weight, options](const Tensor& gg) { return conv2d(gg, weight, options); }),
      edge(weight, [g, options, filters = weight.shape()](const Tensor& gg) {
        return conv2d_weight(gg, g, filters, options);
      }));
}

Tensor conv2d_weight(const Tensor& x, const Tensor& g, const Shape& weight, ConvOptions options,
                     Place place) {
  Tensor dw = Tensor::uninitialized(weight);
  kernels::conv_weight(conv_sizes(x.shape(), weight, options), x.data(), g.data(),
                       dw.mutable_data());
  return record("conv2d_weight", dw, place,
                edge(x, [g, options, image = x.shape()](
                            const Tensor& gg) { return conv2d_input(g, gg, image, options); }),
                edge(g, [x, options](const Tensor& gg) { return conv2d(x, gg, options); }));
}

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, ConvOptions options, Place place) {
  const kernels::ConvSizes sizes = conv_sizes(x.shape(), weight.shape(), options);
  Tensor y = Tensor::uninitialized({sizes.batch, sizes.filters, sizes.out_height, sizes.out_width});
  kernels::conv_forward(sizes, x.data(), weight.data(), y.mutable_data());
  return record("conv2d", y, place,
                edge(x, [weight, options, image = x.shape()](
                            const Tensor& g) { return conv2d_input(g, weight, image, options); }),
                edge(weight, [x, options, filters = weight.shape()](const Tensor& g) {
                  return conv2d_weight(x, g, filters, options);
                }));
}

Tensor max_pool2d(const Tensor& x, PoolOptions options, Place place) {
  expect(x.rank() == 4, "max_pool2d: needs (N, C, H, W): {}", x.shape());
  expect(2 * options.padding <= options.size, "max_pool2d: padding {} is more than half of size {}",
         options.padding, options.size);
  const auto [size, given_stride, padding] = options;
  const Index stride = given_stride == 0 ? size : given_stride;
  const Index height = x.shape()[2], width = x.shape()[3];
  const Index rows = window_count("max_pool2d", x.shape(), height, size, stride, padding);
  const Index columns = window_count("max_pool2d", x.shape(), width, size, stride, padding);
  Indices winners = Indices::uninitialized({x.shape()[0], x.shape()[1], rows, columns});
  Index* out = winners.mutable_data();
  const Index lines = x.shape()[0] * x.shape()[1] * rows;
  parallel_ranges(lines, std::max<Index>(1, elements_per_tile / std::max<Index>(1, size * width)),
                  [&, size = size, padding = padding](Index begin, Index end) {
                    for (Index line = begin; line < end; ++line) {
                      const Index plane = line / rows * height,
                                  top = line % rows * stride - padding;
                      best_of_line(x.data(), plane * width, {top, height},
                                   {stride, padding, size, width}, columns, out + line * columns);
                    }
                  });
  return take(x, winners, place);
}

Tensor avg_pool2d(const Tensor& x, PoolOptions options, Place place) {
  expect(x.rank() == 4, "avg_pool2d: needs (N, C, H, W): {}", x.shape());
  expect(2 * options.padding <= options.size, "avg_pool2d: padding {} is more than half of size {}",
         options.padding, options.size);
  const PlaceScope caller(place);
  const Index stride = options.stride == 0 ? options.size : options.stride;
  const double share = 1.0 / static_cast<double>(options.size * options.size);
  const Shape planes{x.shape()[0] * x.shape()[1], 1, x.shape()[2], x.shape()[3]};
  const Tensor means = conv2d(reshape(x, planes), full({1, 1, options.size, options.size}, share),
                              {.stride = stride, .padding = options.padding});
  return reshape(means, {x.shape()[0], x.shape()[1], means.shape()[2], means.shape()[3]});
}

}  // namespace tapegrad
