#pragma once

#include <optional>
#include <vector>

#include "tapegrad/ops/norm.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The elements that a statistic is taken over: all of some axes, or part of them.
///
///     {.axes = {-1}}                                  a row
///     {.axes = {1, 2, 3}, .groups = 4}                four groups of channels
///     {.axes = {1}, .window = {2, 3}, .radius = 2}    all channels within 5 x 5 positions
/// Example: `normalize(images, both(NormField{.axes = {1, 2, 3}, .groups = 3}))`
struct NormField {
  std::vector<int> axes = {};
  Index groups = 1;              ///< splits the first of the axes into equal groups
  double share = 1;              ///< uses only this leading share of the last of the axes
  std::vector<int> window = {};  ///< along these axes, uses only positions within `radius`
  Index radius = 0;              ///< at the borders, only the positions that exist count

  bool operator==(const NormField&) const = default;
};

/// The two steps of a normalization: subtract the mean over one field, if there is one, and divide
/// by the root mean square over the other.
/// Example: `normalize(x, NormFields{.center = {}, .scale = {.axes = {-1}}})`
struct NormFields {
  std::optional<NormField> center;
  NormField scale;
};
/// Centers and scales over one field.
/// Example: `normalize(images, both({.axes = {2, 3}}))`
inline NormFields both(const NormField& field) { return {field, field}; }

/// The general form of normalization: y = v / s with v = x - mean(x) over the center field and
/// s = sqrt(mean(v^2) + epsilon) or sqrt(mean(v^2)) + epsilon over the scale field (Ren et al.
/// 2017, table 1; Ba et al. 2016, eq. 5). A defined `smoothing` replaces epsilon: s =
/// sqrt(mean(v^2) + smoothing^2), differentiable in `smoothing`. With `identity_forward` or
/// `unit_factor`, the value is exactly x or y, and the gradient is the gradient of
///
///     w + detach(value - w),   w = y or detach(s) y
///   x: any shape   smoothing: broadcasts to x   returns: x's shape
/// Throws ShapeError for fields that x does not have and groups that do not divide their axis;
/// ArgumentError for an unbiased variance over a window, smoothing outside the root, and an epsilon
/// that is negative or not finite.
/// Example: `normalize(images, both({.axes = {1, 2, 3}, .groups = 3}), {.epsilon = 1e-3})`
Tensor normalize(const Tensor& x, const NormFields& fields, const NormOptions& options = {},
                 const Tensor& smoothing = {}, Place = Place::here());

namespace composite {
/// The definition of `normalize` in primitive operations.
Tensor normalize(const Tensor& x, const NormFields& fields, const NormOptions& options = {},
                 const Tensor& smoothing = {});
}  // namespace composite

}  // namespace tapegrad::TAPEGRAD_SCALAR
