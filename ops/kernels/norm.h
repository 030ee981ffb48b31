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

/// How many neighbouring rows are normalized at once. A statistic is a chain of dependent
/// instructions, longer than the pass over a row takes. The statistics of neighbouring rows are
/// computed before the first is used, so that they overlap.
constexpr Index rows_at_once = 4;

/// What the backward pass needs of the statistics of each row: inverses (1 / s), and slopes, with
/// ds/dx = slope s y. Rows follow one another, `count` elements each.
struct NormLoops {
  void (*forward)(const RowNorm& norm, const real* x, Index rows, Index count, real* y,
                  real* inverses, real* slopes);
  /// dx = (g - mean g - y slope sum(g y)) / s; a detached statistic drops its term. dx may be g.
  void (*backward)(const RowNorm& norm, const real* inverses, const real* slopes, const real* g,
                   const real* y, Index rows, Index count, real* dx);

  /// Normalizes columns: `count` of them side by side in `rows` rows that begin `stride` apart.
  void (*forward_columns)(const RowNorm& norm, const real* x, Index rows, Index stride, Index count,
                          real* y, real* inverses, real* slopes);
  void (*backward_columns)(const RowNorm& norm, const real* inverses, const real* slopes,
                           const real* g, const real* y, Index rows, Index stride, Index count,
                           real* dx);
  /// The most columns that these two accept.
  Index most_columns;

  /// z = y gain + bias; a null bias means none.
  void (*affine)(const real* y, const real* gain, const real* bias, Index rows, Index count,
                 real* z);
  /// dy = g gain, d_gain += g y, d_bias += g; d_gain and d_bias may be null.
  void (*affine_back)(const real* g, const real* y, const real* gain, Index rows, Index count,
                      real* dy, real* d_gain, real* d_bias);
};
const NormLoops& norm();

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
