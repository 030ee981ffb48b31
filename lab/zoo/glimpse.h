#pragma once

#include "tapegrad/core/tape.h"

/// Attention to parts of images through Gaussian filters (Gregor et al. 2015, section 3.2).
namespace tapegrad::TAPEGRAD_SCALAR {

/// Where filters in a square grid look at images: numbers for each of B images, in pixels.
/// Example: `const GlimpseWindow window = glimpse_window(zeros({2, 5}), {3, 28, 28})`
struct GlimpseWindow {
  Tensor x, y;       ///< the center of the grid; the center of the first pixel is 1
  Tensor stride;     ///< between the centers of neighboring filters
  Tensor deviation;  ///< of each filter
  Tensor intensity;  ///< what `read_glimpse` multiplies and `write_glimpse` divides by
};

/// The number of filters along each side of a grid, and the size of its images.
/// Example: `GlimpseSizes{.filters = 5, .height = 28, .width = 28}`
struct GlimpseSizes {
  Index filters, height, width;
};

/// The windows that a network chooses: with a row (x', y', log v, log d, log i) of `numbers`
///
///     x = (width + 1) / 2 (x' + 1)                        deviation = sqrt(v)
///     y = (height + 1) / 2 (y' + 1)                       intensity = i
///     stride = (max(height, width) - 1) / (filters - 1) d
///
/// so that a row of zeros looks at the whole image (Gregor et al. 2015, eq. 21-24).
///   numbers: (B, 5)
/// Throws ShapeError for other shapes, ArgumentError for fewer than two filters and empty images.
/// Example: `glimpse_window(zeros({2, 5}), {.filters = 3, .height = 28, .width = 28}).stride`
GlimpseWindow glimpse_window(const Tensor& numbers, GlimpseSizes sizes, Place = Place::here());

/// The number of filters and of the pixels along an axis.
/// Example: `FilterbankSizes{.filters = 3, .extent = 28}`
struct FilterbankSizes {
  Index filters, extent;
};
/// Gaussian filters along one axis of an image. Filter i of N has its center at
/// m = center + (i - N / 2 - 1 / 2) stride, for i from 1, and at pixel a, from 1, the weight
/// exp(-(a - m)^2 / (2 deviation^2)), or 0 where that is less than e^-40, divided by the sum of the
/// filter's weights or, far outside of the image, by 1e-8 (Gregor et al. 2015, eq. 19, 20, 25, 26).
///   center, stride, deviation: (B)   returns (B, filters, extent)
/// Throws ShapeError for shapes that differ, ArgumentError for numbers of filters and pixels
/// below 1.
/// Example: `gaussian_filterbank({{1}, {14.5}}, {{1}, {9}}, {{1}, {1}}, {3, 28})`
Tensor gaussian_filterbank(const Tensor& center, const Tensor& stride, const Tensor& deviation,
                           FilterbankSizes sizes, Place = Place::here());

/// The filters of a grid along both axes of its images.
/// Example: `glimpse_filters(glimpse_window(zeros({2, 5}), {3, 28, 28}), {3, 28, 28}).x`
struct GlimpseFilters {
  Tensor y, x;       ///< filterbanks: (B, filters, height) and (B, filters, width)
  Tensor intensity;  ///< of the window, (B)
};

/// The filters that look through a window. Throws ShapeError for windows of other numbers of
/// images, ArgumentError for sizes below 1.
/// Example: `glimpse_filters(glimpse_window(zeros({2, 5}), {3, 28, 28}), {3, 28, 28})`
GlimpseFilters glimpse_filters(const GlimpseWindow& window, GlimpseSizes sizes,
                               Place = Place::here());

/// What the filters see: intensity F_Y x F_X^T, with the filterbank of each axis (Gregor et al.
/// 2015, eq. 27).
///   images: (B, height, width)   returns (B, filters, filters)
/// Throws ShapeError for shapes that do not fit.
/// Example: `read_glimpse(zeros({2, 8, 9}), {ones({2, 3, 8}), ones({2, 3, 9}), ones({2})})`
Tensor read_glimpse(const Tensor& images, const GlimpseFilters& filters, Place = Place::here());
/// The converse, a patch through the filters onto an image: F_Y^T p F_X / intensity (Gregor et al.
/// 2015, eq. 28 and 29).
///   patches: (B, filters, filters)   returns (B, height, width)
/// Throws ShapeError for shapes that do not fit.
/// Example: `write_glimpse(ones({2, 3, 3}), {ones({2, 3, 8}), ones({2, 3, 9}), ones({2})})`
Tensor write_glimpse(const Tensor& patches, const GlimpseFilters& filters, Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
