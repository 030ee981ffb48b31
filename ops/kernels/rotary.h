#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// Pairs of neighbouring channels, and their angles: pair i of each head has the angle
/// position base^(-i / pairs per head).
struct Rotary {
  Index batch, steps, heads, channels;  ///< channels: of all heads
  Index first;                          ///< step t is at first + t
  const Index* positions;               ///< (batch, steps) instead, or null
  double base;
};
/// y (batch, steps, channels) = x with each pair rotated by its angle times `direction`. A task
/// takes neighbouring rows of channels.
void rotate(const Rotary& rotary, double direction, const real* x, real* y);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
