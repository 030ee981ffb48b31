#pragma once

#include "tapegrad/core/tape.h"

namespace tapegrad {

/// Strides and zero padding of a 2-d window, down and across.
struct ConvOptions {
  Index stride = 1;
  Index padding = 0;
};

/// Cross-correlation, what deep learning calls convolution.
///   x: (N, C, H, W)   weight: (O, C, R, S)
///   returns (N, O, (H + 2 padding - R) / stride + 1, (W + 2 padding - S) / stride + 1)
/// Throws ShapeError for other ranks, channels that differ, or a window larger than the padded
/// image.
Tensor conv2d(const Tensor& x, const Tensor& weight, ConvOptions options = {},
              Place = Place::here());

/// Windows of `size` x `size`, `stride` apart (0: as far as the size), with padding at most size /
/// 2 that never wins a maximum.
struct PoolOptions {
  Index size = 2;
  Index stride = 0;
  Index padding = 0;
};
/// The greatest element of each window; the first of equals gets the gradient, as in PyTorch.
///   x: (N, C, H, W)   returns (N, C, H', W') as in conv2d
Tensor max_pool2d(const Tensor& x, PoolOptions options = {}, Place = Place::here());
/// The mean of each window, over size^2 elements including padding, as in PyTorch.
Tensor avg_pool2d(const Tensor& x, PoolOptions options = {}, Place = Place::here());

}  // namespace tapegrad
