#include "tapegrad/nn/functions/pool.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "tapegrad/core/error.h"
#include "tapegrad/core/indices.h"
#include "tapegrad/nn/functions/conv.h"
#include "tapegrad/nn/functions/internal/windows.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/kernels/pool.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

using Windows = std::vector<kernels::PoolWindow>;

Index extent_of(const char* operation, const Shape& image, int axis) {
  expect(image[axis] >= 1, "{}: an image without elements: {}", operation, image);
  return image[axis];
}

// The windows along one axis, as they are: they may reach outside the image.
Windows windows_along(const char* operation, const Shape& image, int axis, const WindowMoves& moves,
                      bool ceil_mode) {
  const auto [size, stride, padding] = moves;
  expect<ArgumentError>(2 * padding <= size, "{}: padding {} is more than half of size {}",
                        operation, padding, size);
  extent_of(operation, image, axis);
  const Index count = window_count(operation, image, axis, moves, ceil_mode);
  Windows windows;
  for (Index i = 0; i < count; ++i) {
    const Index begin = i * stride - padding;
    windows.push_back({begin, begin + size});
  }
  return windows;
}

// The options with the strides that 0 stands for.
PoolOptions with_strides(PoolOptions options) {
  if (options.stride.height == 0) options.stride.height = options.size.height;
  if (options.stride.width == 0) options.stride.width = options.size.width;
  return options;
}

struct WindowsOfImage {
  Windows rows, columns;
};

WindowsOfImage windows_of(const char* operation, const Shape& x, const PoolOptions& options) {
  expect(x.rank() == 4, "{}: needs (N, C, H, W): {}", operation, x);
  const auto& [size, stride, padding, ceil_mode, count_include_pad] = options;
  return {windows_along(operation, x, 2, {size.height, stride.height, padding.height}, ceil_mode),
          windows_along(operation, x, 3, {size.width, stride.width, padding.width}, ceil_mode)};
}

// The parts of the windows in [begin, end).
Windows clipped(Windows windows, Index begin, Index end) {
  for (auto& window : windows) window = {std::max(window.begin, begin), std::min(window.end, end)};
  return windows;
}

// PyTorch's windows of adaptive pools.
Windows adaptive_windows(const char* operation, const Shape& image, int axis, Index count) {
  expect<ArgumentError>(count >= 1, "{}: a size must be at least 1: {}", operation, count);
  const Index extent = extent_of(operation, image, axis);
  Windows windows;
  for (Index i = 0; i < count; ++i)
    windows.push_back({i * extent / count, ((i + 1) * extent + count - 1) / count});
  return windows;
}

// The greatest element of each window within the image.
Tensor greatest(const char* operation, const Tensor& x, const Windows& rows, const Windows& columns,
                Place place) {
  const Shape& shape = x.shape();
  expect(shape.count(2, 4) <= std::numeric_limits<std::int32_t>::max(),
         "{}: a plane of {} has too many elements", operation, shape);
  Indices winners = Indices::uninitialized(
      {shape[0], shape[1], static_cast<Index>(rows.size()), static_cast<Index>(columns.size())});
  kernels::max_pool({shape[0] * shape[1], shape[2], shape[3], rows, columns}, x.data(),
                    winners.mutable_data());
  return take(x, winners, place);
}

Tensor max_pool(const char* operation, const Tensor& x, const PoolOptions& options, Place place) {
  const auto [rows, columns] = windows_of(operation, x.shape(), with_strides(options));
  expect<ArgumentError>(options.count_include_pad,
                        "{}: count_include_pad has no effect: false; leave it out", operation);
  return greatest(operation, x, clipped(rows, 0, x.shape()[2]), clipped(columns, 0, x.shape()[3]),
                  place);
}

// How many elements of each window count in a mean.
Tensor counted(const Windows& windows, Index extent, const PoolOptions& options, Index padding) {
  const Index margin = options.count_include_pad ? padding : 0;
  Tensor counts = Tensor::uninitialized({static_cast<Index>(windows.size())});
  real* next = counts.mutable_data();
  for (const auto [begin, end] : clipped(windows, -margin, extent + margin))
    *next++ = static_cast<real>(end - begin);
  return counts;
}

Tensor avg_pool(const char* operation, const Tensor& x, const PoolOptions& given) {
  const PoolOptions options = with_strides(given);
  const Shape& shape = x.shape();
  const auto [rows, columns] = windows_of(operation, shape, options);
  const auto& [size, stride, padding, ceil_mode, count_include_pad] = options;
  Tensor planes = reshape(x, {shape[0] * shape[1], 1, shape[2], shape[3]});
  // What the last windows of ceil_mode cover beyond the padding.
  const Index below = std::max<Index>(0, rows.back().end - shape[2] - padding.height);
  const Index right = std::max<Index>(0, columns.back().end - shape[3] - padding.width);
  if (below > 0 || right > 0) planes = pad(planes, {{0, below}, {0, right}});
  const double area = static_cast<double>(size.height * size.width);
  Tensor means = conv2d(planes, full({1, 1, size.height, size.width}, 1 / area),
                        {.stride = stride, .padding = padding});
  if (below > 0 || right > 0 || !count_include_pad)
    means = means * (area / outer(counted(rows, shape[2], options, padding.height),
                                  counted(columns, shape[3], options, padding.width)));
  return reshape(means, shape.with(2, means.shape()[2]).with(3, means.shape()[3]));
}

// The mean over each window of an axis.
Tensor means_along(const Tensor& x, int axis, const Windows& windows) {
  std::vector<Tensor> means;
  for (const auto [begin, end] : windows) means.push_back(mean(slice(x, axis, begin, end), axis));
  return stack(means, axis);
}

// Sequences (N, C, L) as images of one line.
Tensor as_line(const char* operation, const Tensor& x) {
  expect(x.rank() == 3, "{}: needs (N, C, L): {}", operation, x.shape());
  return reshape(x, x.shape().insert(2, 1));
}

PoolOptions of_line(const char* operation, PoolOptions options) {
  options.size = {1, only_number(operation, "size", options.size)};
  options.stride = {1, only_number(operation, "stride", options.stride)};
  options.padding = {0, only_number(operation, "padding", options.padding)};
  return options;
}

Tensor as_sequence(const Tensor& y) { return reshape(y, y.shape().without(2)); }

}  // namespace

Tensor max_pool2d(const Tensor& x, PoolOptions options, Place place) {
  const OperationScope scope("max_pool2d", place, x);
  return max_pool("max_pool2d", x, options, place);
}

Tensor avg_pool2d(const Tensor& x, PoolOptions options, Place place) {
  const OperationScope scope("avg_pool2d", place, x);
  return avg_pool("avg_pool2d", x, options);
}

Tensor max_pool1d(const Tensor& x, PoolOptions options, Place place) {
  const OperationScope scope("max_pool1d", place, x);
  const PoolOptions line = of_line("max_pool1d", options);
  return as_sequence(max_pool("max_pool1d", as_line("max_pool1d", x), line, place));
}

Tensor avg_pool1d(const Tensor& x, PoolOptions options, Place place) {
  const OperationScope scope("avg_pool1d", place, x);
  const PoolOptions line = of_line("avg_pool1d", options);
  return as_sequence(avg_pool("avg_pool1d", as_line("avg_pool1d", x), line));
}

Tensor adaptive_max_pool2d(const Tensor& x, HeightWidth size, Place place) {
  const OperationScope scope("adaptive_max_pool2d", place, x);
  expect(x.rank() == 4, "adaptive_max_pool2d: needs (N, C, H, W): {}", x.shape());
  return greatest("adaptive_max_pool2d", x,
                  adaptive_windows("adaptive_max_pool2d", x.shape(), 2, size.height),
                  adaptive_windows("adaptive_max_pool2d", x.shape(), 3, size.width), place);
}

Tensor adaptive_avg_pool2d(const Tensor& x, HeightWidth size, Place place) {
  const OperationScope scope("adaptive_avg_pool2d", place, x);
  expect(x.rank() == 4, "adaptive_avg_pool2d: needs (N, C, H, W): {}", x.shape());
  const Windows rows = adaptive_windows("adaptive_avg_pool2d", x.shape(), 2, size.height);
  const Windows columns = adaptive_windows("adaptive_avg_pool2d", x.shape(), 3, size.width);
  // Windows are rectangles, so the mean of their rows' means is their mean.
  return means_along(means_along(x, 2, rows), 3, columns);
}

Tensor adaptive_max_pool1d(const Tensor& x, Index size, Place place) {
  const OperationScope scope("adaptive_max_pool1d", place, x);
  const Tensor line = as_line("adaptive_max_pool1d", x);
  const Windows columns = adaptive_windows("adaptive_max_pool1d", line.shape(), 3, size);
  return as_sequence(greatest("adaptive_max_pool1d", line, {{0, 1}}, columns, place));
}

Tensor adaptive_avg_pool1d(const Tensor& x, Index size, Place place) {
  const OperationScope scope("adaptive_avg_pool1d", place, x);
  expect(x.rank() == 3, "adaptive_avg_pool1d: needs (N, C, L): {}", x.shape());
  return means_along(x, 2, adaptive_windows("adaptive_avg_pool1d", x.shape(), 2, size));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
