#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::kernels {

/// A 2-d cross-correlation: images (batch, channels, height, width), filters (filters, channels,
/// rows, columns), results (batch, filters, out_height, out_width).
struct ConvSizes {
  Index batch, channels, height, width;
  Index filters, rows, columns;
  Index stride, padding;
  Index out_height, out_width;

  Index image() const { return channels * height * width; }
  Index patch() const { return channels * rows * columns; }
  Index positions() const { return out_height * out_width; }
  Index result() const { return filters * positions(); }
};

/// y = x * w
void conv_forward(const ConvSizes& sizes, const real* x, const real* w, real* y);
/// The gradient of x, given that of y.
void conv_input(const ConvSizes& sizes, const real* g, const real* w, real* dx);
/// The gradient of w, given that of y.
void conv_weight(const ConvSizes& sizes, const real* x, const real* g, real* dw);

}  // namespace tapegrad::kernels
