#pragma once

#include <vector>

#include "tapegrad/ops/kernels/norm.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// The transformation of rows within a step: normalize each segment, then apply gain and bias.
struct RowTransform {
  bool normalized = false;
  RowNorm norm = {};            ///< each segment has divisor = length - lost
  Index lost = 0;               ///< 1 for an unbiased variance
  std::vector<Index> segments;  ///< lengths of the normalized parts of a row
  bool over_sum = false;        ///< applies to inputs + product rather than to the product
  const real* gain = nullptr;
  const real* bias = nullptr;

  bool identity() const { return !normalized && gain == nullptr && bias == nullptr; }
};

/// Gradients of a transform's gain and bias; null where it has none.
struct TransformGradients {
  real* gain;
  real* bias;
};

/// Transforms a row in place.
///   normalized (count numbers) and scales (two per segment) are kept for the backward pass; unused
///   if the transform does not normalize
void transform_forward(const RowTransform& transform, real* row, Index count, real* normalized,
                       real* scales);

/// g: the gradient of the transformed row, replaced by that of the original row. Adds the gradients
/// of gain and bias to `total`.
void transform_backward(const RowTransform& transform, real* g, Index count, const real* normalized,
                        const real* scales, TransformGradients total);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
