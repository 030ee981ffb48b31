#pragma once

#include "tapegrad/core/tape.h"
#include "tapegrad/nn/functions/height_width.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// How windows cover an image: one number for both axes, or {along the height, along the width}.
struct PoolOptions {
  HeightWidth size = 2;
  HeightWidth stride = 0;         ///< 0: the size, so that the windows lie side by side
  HeightWidth padding = 0;        ///< at most half of the size
  bool ceil_mode = false;         ///< a last window may reach beyond the padding
  bool count_include_pad = true;  ///< whether padding counts as zeros in a mean
};
/// The greatest element of each window; the first of equal elements gets the gradient, as in
/// PyTorch, and the others 0 whatever arrives. The last NaN wins; padding never does.
///   x: (N, C, H, W)   returns (N, C, H', W') with H' = (H + 2 padding - size) / stride + 1,
///   rounded down, or with `ceil_mode` up; then no window begins after the image
/// Throws ShapeError for other ranks, images without elements and a window larger than the padded
/// image; ArgumentError for sizes and strides below 1, paddings below 0 or above half of the size,
/// and `count_include_pad`.
/// Elsewhere: `F.max_pool2d`
/// Example: `max_pool2d(images, {.size = 3, .stride = 2, .padding = 1})`
Tensor max_pool2d(const Tensor& x, PoolOptions options = {}, Place = Place::here());
/// The mean of each window. What `ceil_mode` adds beyond the padding never counts, as in PyTorch.
/// Shapes and errors as for max_pool2d.
/// Elsewhere: `F.avg_pool2d`
/// Example: `avg_pool2d(images, {.size = 3, .padding = 1, .count_include_pad = false})`
Tensor avg_pool2d(const Tensor& x, PoolOptions options = {}, Place = Place::here());
/// `max_pool2d` along one axis. Throws ArgumentError also for options with two different numbers.
///   x: (N, C, L)   returns (N, C, L')
/// Elsewhere: `F.max_pool1d`
/// Example: `max_pool1d(sequence, {.size = 3, .stride = 2, .padding = 1})`
Tensor max_pool1d(const Tensor& x, PoolOptions options = {}, Place = Place::here());
/// `avg_pool2d` along one axis. Shapes and errors as for max_pool1d.
/// Elsewhere: `F.avg_pool1d`
/// Example: `avg_pool1d(sequence, {.size = 4})`
Tensor avg_pool1d(const Tensor& x, PoolOptions options = {}, Place = Place::here());

/// The greatest element of each of so many windows, which cover the whole image: window i of h goes
/// from i H / h, rounded down, to (i + 1) H / h, rounded up, as in PyTorch.
///   x: (N, C, H, W)   size: (h, w)   returns (N, C, h, w)
/// Throws ShapeError for other ranks and images without elements, ArgumentError for sizes below 1.
/// Elsewhere: `F.adaptive_max_pool2d`
/// Example: `adaptive_max_pool2d(images, {2, 3})`
Tensor adaptive_max_pool2d(const Tensor& x, HeightWidth size, Place = Place::here());
/// The mean of each of these windows; for size 1, of each channel of each image. Shapes and errors
/// as for adaptive_max_pool2d.
/// Elsewhere: `F.adaptive_avg_pool2d`
/// Example: `adaptive_avg_pool2d(images, 1)`
Tensor adaptive_avg_pool2d(const Tensor& x, HeightWidth size, Place = Place::here());
/// `adaptive_max_pool2d` along one axis.
///   x: (N, C, L)   returns (N, C, size)
/// Throws as it does.
/// Elsewhere: `F.adaptive_max_pool1d`
/// Example: `adaptive_max_pool1d(sequence, 3)`
Tensor adaptive_max_pool1d(const Tensor& x, Index size, Place = Place::here());
/// `adaptive_avg_pool2d` along one axis. Shapes and errors as for adaptive_max_pool1d.
/// Elsewhere: `F.adaptive_avg_pool1d`
/// Example: `adaptive_avg_pool1d(sequence, 3)`
Tensor adaptive_avg_pool1d(const Tensor& x, Index size, Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
