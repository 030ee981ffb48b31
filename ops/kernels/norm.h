#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::kernels {

/// Layer normalization of one row, and back.
struct Norm {
  /// y = (x - mean) / s with s = sqrt(variance + epsilon); returns 1 / s.
  real (*forward)(const real* x, Index count, real epsilon, real* y);
  /// dx = (g - mean g - y mean(g y)) / s; a detached statistic drops its term.
  void (*backward)(const real* g, const real* y, Index count, real inverse_scale, bool mean_term,
                   bool scale_term, real* dx);
};
const Norm& norm();

}  // namespace tapegrad::kernels
