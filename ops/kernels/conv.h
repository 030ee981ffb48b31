#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// One axis of a cross-correlation: filters of `size` elements, `dilation` apart, at `count`
/// positions, `stride` apart, of an image of `extent` elements with `padding` on both sides.
struct ConvAxis {
  Index extent, size;
  Index stride, padding, dilation;
  Index count;
};

/// A 2-d cross-correlation: images (batch, channels, rows.extent, columns.extent), filters
/// (filters, channels / groups, rows.size, columns.size), results (batch, filters, rows.count,
/// columns.count). Each group of filters sees its group of channels.
struct ConvSizes {
  Index batch, channels, filters, groups;
  ConvAxis rows, columns;

  Index group_channels() const { return channels / groups; }
  Index group_filters() const { return filters / groups; }
  Index image() const { return channels * rows.extent * columns.extent; }
  Index group_image() const { return group_channels() * rows.extent * columns.extent; }
  Index patch() const { return group_channels() * rows.size * columns.size; }
  Index positions() const { return rows.count * columns.count; }
  Index result() const { return filters * positions(); }
  Index group_result() const { return group_filters() * positions(); }
  Index weights() const { return filters * patch(); }
  Index group_weights() const { return group_filters() * patch(); }
};

// In all three functions, a task takes at most four images.

/// y = x * w. Takes fewer images if there are threads for more tasks.
void conv_forward(const ConvSizes& sizes, const real* x, const real* w, real* y);
/// The gradient of x, given g, the gradient of y. Divided like y.
void conv_input(const ConvSizes& sizes, const real* g, const real* w, real* dx);
/// The gradient of w, given g, the gradient of y. If there are threads for more tasks, these take
/// parts of each filter. Adds the sums over four images in order.
void conv_weight(const ConvSizes& sizes, const real* x, const real* g, real* dw);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
