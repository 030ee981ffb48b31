#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// A 2-d cross-correlation: images (batch, channels, height, width), filters (filters, channels /
/// groups, rows, columns), results (batch, filters, out_height, out_width). Each group of filters
/// sees its group of channels.
struct ConvSizes {
  Index batch, channels, height, width;
  Index filters, rows, columns;
  Index stride, top, left;  ///< padding: `top` above and below, `left` on both sides
  Index dilation, groups;
  Index out_height, out_width;

  Index group_channels() const { return channels / groups; }
  Index group_filters() const { return filters / groups; }
  Index image() const { return channels * height * width; }
  Index group_image() const { return group_channels() * height * width; }
  Index patch() const { return group_channels() * rows * columns; }
  Index positions() const { return out_height * out_width; }
  Index result() const { return filters * positions(); }
  Index group_result() const { return group_filters() * positions(); }
  Index weights() const { return filters * patch(); }
  Index group_weights() const { return group_filters() * patch(); }
};

// In all three functions, a task takes four images.

/// y = x * w
void conv_forward(const ConvSizes& sizes, const real* x, const real* w, real* y);
/// The gradient of x, given that of y.
void conv_input(const ConvSizes& sizes, const real* g, const real* w, real* dx);
/// The gradient of w, given that of y. Adds the tasks' sums in order.
void conv_weight(const ConvSizes& sizes, const real* x, const real* g, real* dw);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
