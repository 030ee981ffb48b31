#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// How a row is normalized: y = (x - m) / s with s^2 = sum (x - m)^2 / divisor + epsilon, or
/// s = sqrt(sum (x - m)^2 / divisor) + epsilon.
struct RowNorm {
  bool centered;        ///< m is the mean of the row; otherwise 0
  bool outside_root;    ///< epsilon is added to the root
  bool detached_mean;   ///< the backward pass treats m as a constant
  bool detached_scale;  ///< and likewise s
  real epsilon;
  real divisor;
};

/// The statistics of a row that the backward pass needs.
struct RowScale {
  real inverse;  ///< 1 / s
  real slope;    ///< ds/dx = slope s y
};

struct NormLoops {
  RowScale (*forward)(const RowNorm& norm, const real* x, Index count, real* y);
  /// dx = (g - mean g - y slope sum(g y)) / s; a detached statistic drops its term.
  void (*backward)(const RowNorm& norm, RowScale scale, const real* g, const real* y, Index count,
                   real* dx);

  /// The same for columns: `count` of them side by side in `rows` rows that begin `stride` apart.
  /// inverses and slopes hold `count` numbers each.
  void (*forward_columns)(const RowNorm& norm, const real* x, Index rows, Index stride, Index count,
                          real* y, real* inverses, real* slopes);
  void (*backward_columns)(const RowNorm& norm, const real* inverses, const real* slopes,
                           const real* g, const real* y, Index rows, Index stride, Index count,
                           real* dx);
  /// The most columns that these two accept.
  Index most_columns;

  /// z = y gain + bias; a null bias means none.
  void (*affine)(const real* y, const real* gain, const real* bias, Index count, real* z);
  /// dy = g gain, d_gain += g y, d_bias += g; d_gain and d_bias may be null.
  void (*affine_back)(const real* g, const real* y, const real* gain, Index count, real* dy,
                      real* d_gain, real* d_bias);
};
const NormLoops& norm();

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
