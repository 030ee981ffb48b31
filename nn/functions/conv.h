#pragma once

#include "tapegrad/core/tape.h"
#include "tapegrad/nn/functions/height_width.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// How a window moves over an image and what it sees: one number for both axes, or {along the
/// height, along the width}.
struct ConvOptions {
  HeightWidth stride = 1;
  HeightWidth padding = 0;   ///< zeros around the image
  HeightWidth dilation = 1;  ///< distance between neighbouring elements of the window
  Index groups = 1;          ///< each group of filters sees its group of channels only
};

/// Cross-correlation, which deep learning calls convolution. 0 times infinity or NaN is NaN, as in
/// matmul.
///   x: (N, C, H, W)   weight: (O, C / groups, R, S)   returns (N, O, H', W') with
///   H' = (H + 2 padding - dilation (R - 1) - 1) / stride + 1, and so on
/// Throws ShapeError for other ranks, channels that disagree, groups that do not divide the
/// channels, and a window larger than the padded image; ArgumentError for strides and dilations
/// below 1 and for padding below 0.
/// Elsewhere: `F.conv2d`, `lax.conv`; cross-correlation
/// Example: `conv2d(images, random.normal({4, 3, 3, 3}), {.padding = 1})`
Tensor conv2d(const Tensor& x, const Tensor& weight, ConvOptions options = {},
              Place = Place::here());
/// A convolution along one axis. Throws ArgumentError also for options with two different numbers.
///   x: (N, C, L)   weight: (O, C / groups, R)   returns (N, O, L')
/// Elsewhere: `F.conv1d`
/// Example: `conv1d(sequence, random.normal({4, 3, 3}), {.padding = 1})`
Tensor conv1d(const Tensor& x, const Tensor& weight, ConvOptions options = {},
              Place = Place::here());

struct ConvTransposeOptions {
  HeightWidth stride = 1;
  HeightWidth padding = 0;
  HeightWidth output_padding = 0;  ///< added to the result's extents, less than the stride
  HeightWidth dilation = 1;
  Index groups = 1;
};
/// The transpose of `conv2d` as a linear map of the image, with the same weight and options, also
/// called deconvolution. It computes what the gradient of conv2d computes. conv2d maps images of
/// several heights to one; `output_padding` chooses among them.
///   x: (N, C, H, W)   weight: (C, O / groups, R, S)   returns (N, O, H', W') with
///   H' = (H - 1) stride - 2 padding + dilation (R - 1) + 1 + output_padding, and so on
/// Throws as conv2d does, ShapeError for a result without elements, and ArgumentError for an output
/// padding that is not less than the stride.
/// Elsewhere: `F.conv_transpose2d`, deconvolution
/// Example: `conv_transpose2d(images, random.normal({3, 4, 2, 2}), {.stride = 2})`
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, ConvTransposeOptions options = {},
                        Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
