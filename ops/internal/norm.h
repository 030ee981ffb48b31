#pragma once

// Shared by `layer_norm`, `rms_norm`, `normalize` and `affine_norm`.

#include "tapegrad/ops/kernels/lines.h"
#include "tapegrad/ops/normalize.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The field of layer normalization.
inline const NormField row{.axes = {-1}};

/// A tensor as a matrix of rows along its last axis.
inline kernels::Matrix matrix(const Shape& shape) {
  const Index columns = shape[-1];
  return {columns == 0 ? 0 : shape.size() / columns, columns};
}

/// The divisor s, from the mean square of `count` values about their mean.
Tensor deviation(const Tensor& moment, double count, const NormOptions& options,
                 const Tensor& smoothing = {});

/// z, or x with the gradient of z, divided by s or not, as the options choose.
Tensor in_form(const Tensor& z, const Tensor& x, const Tensor& s, const NormOptions& options);

/// The kernels' form of these options, for lines of this length.
kernels::RowNorm row_norm(bool centered, const NormOptions& options, Index length);

/// Normalizes the rows or the columns of a matrix: to mean 0 and mean square 1, or to mean square 1
/// only. `node` names the operation on the tape.
Tensor normalize_lines(const Tensor& x, kernels::Lines lines, bool centered,
                       const NormOptions& options, const char* node, Place place);

/// Throws ShapeError and ArgumentError as `normalize` does, in the name of `operation`.
void expect_norm(const char* operation, const NormFields& fields, const NormOptions& options,
                 const Tensor& x, const Tensor& smoothing);

}  // namespace tapegrad::TAPEGRAD_SCALAR
