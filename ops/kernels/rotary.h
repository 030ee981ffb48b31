#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// Neighbouring channels as pairs: pair i of each head of step t has the angle
/// (first + t) base^(-i / pairs of a head).
struct Rotary {
  Index batch, steps, heads, channels;  ///< channels: of all heads
  Index first;
  double base;
};
/// y (batch, steps, channels) = x with each pair turned by its angle times `direction`. A task
/// takes as many rows of channels as are worth one.
void rotate(const Rotary& rotary, double direction, const real* x, real* y);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
