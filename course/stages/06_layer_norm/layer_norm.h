#pragma once

// Stage 6: layer normalization by composition. Fill in what throws; add what you need.

#include <stdexcept>
#include <vector>

#include "tape.h"

/// The value of x, through which no gradient flows.   x: any shape    returns: the same shape
inline Variable detach(const Variable& x) {
  (void)x;
  throw std::logic_error("detach is not written yet");
}

/// The square root, element by element.   x: any shape    returns: the same shape
inline Variable sqrt(const Variable& x) {
  (void)x;
  throw std::logic_error("sqrt is not written yet");
}

/// The mean along an axis, which stays with length 1.   mean of (2, 3) along 1: (2, 1)
inline Variable mean(const Variable& x, int axis) {
  (void)x, (void)axis;
  throw std::logic_error("mean is not written yet");
}

/// Each row minus its mean, divided by sqrt(variance + epsilon). The variance is the mean of the
/// squares of what is left without the mean.   x: (N, H)    returns: (N, H)
inline Variable layer_norm(const Variable& x, double epsilon = 1e-5) {
  (void)x, (void)epsilon;
  throw std::logic_error("layer_norm is not written yet");
}
