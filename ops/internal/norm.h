#pragma once

// Shared by `normalize` and `affine_norm`.

#include "tapegrad/ops/kernels/lines.h"
#include "tapegrad/ops/norm.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The field of layer normalization.
inline const NormField row{.axes = {-1}};

/// A tensor as a matrix of rows along its last axis.
inline kernels::Matrix matrix(const Shape& shape) {
  const Index columns = shape[-1];
  return {columns == 0 ? 0 : shape.size() / columns, columns};
}

/// The kernels' form of these options, for lines of this length.
kernels::RowNorm row_norm(bool centered, const NormOptions& options, Index length);

/// Throws ShapeError as `normalize` does.
void expect_norm(const NormFields& fields, const NormOptions& options, const Tensor& x,
                 const Tensor& smoothing);

}  // namespace tapegrad::TAPEGRAD_SCALAR
