#pragma once

#include <vector>

#include "tapegrad/ops/kernels/norm.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// A part of a row that is normalized on its own.
struct Segment {
  Index length;
  RowNorm norm;
};

/// What is done to rows within a step: a normalization of each segment, then gain and bias.
struct RowTransform {
  std::vector<Segment> segments;  ///< one after another; none: no normalization
  bool over_sum = false;          ///< to inputs + product, rather than to the product
  const real* gain = nullptr;
  const real* bias = nullptr;

  bool normalized() const { return !segments.empty(); }
  bool identity() const { return !normalized() && gain == nullptr && bias == nullptr; }
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

/// g: the gradient of the transformed row, which the gradient of the original row replaces. Adds
/// the gradients of gain and bias to `total`.
void transform_backward(const RowTransform& transform, real* g, Index count, const real* normalized,
                        const real* scales, TransformGradients total);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
