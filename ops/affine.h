#pragma once

#include "tapegrad/ops/normalize.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// y gain + bias, channel by channel, as after a normalization.
///   y: (..., H)   gain: (H)   bias: (H), or undefined for none   returns: y's shape
/// Throws ShapeError for other shapes.
/// Example: `affine(layer_norm(x), ones({6}), zeros({6}))`
Tensor affine(const Tensor& y, const Tensor& gain, const Tensor& bias, Place = Place::here());

/// affine(normalize(x, fields, options), gain, bias), as in the layers LayerNorm and RMSNorm. For
/// rows it takes one pass and keeps only x.
///   x: (..., H)   gain: (H)   bias: (H), or undefined for none   returns: x's shape
/// Throws ShapeError as those two do.
/// Example: `affine_norm(x, both({.axes = {-1}}), ones({6}), zeros({6}))`
Tensor affine_norm(const Tensor& x, const NormFields& fields, const Tensor& gain,
                   const Tensor& bias, const NormOptions& options = {}, Place = Place::here());

namespace composite {
Tensor affine(const Tensor& y, const Tensor& gain, const Tensor& bias);
}  // namespace composite

}  // namespace tapegrad::TAPEGRAD_SCALAR
