#pragma once

#include <optional>
#include <vector>

#include "tapegrad/core/tape.h"
#include "tapegrad/ops/reduce.h"

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
  std::vector<int> window = {};  ///< along these axes, uses only positions within `radius`; at the
  Index radius = 0;              ///< borders, only those that exist

  bool operator==(const NormField&) const = default;
};

/// The two steps of a normalization: subtract the mean over one field, if there is one, and divide
/// by the root mean square over the other.
/// Example: `normalize(x, NormFields{.center = {}, .scale = {.axes = {-1}}})`
struct NormFields {
  std::optional<NormField> center;
  NormField scale;
};
/// The same field for both.
/// Example: `normalize(images, both({.axes = {2, 3}}))`
inline NormFields both(const NormField& field) { return {field, field}; }

/// Example: `rms_norm(x, {.epsilon = 1e-8, .place = Epsilon::outside_root})`
enum class Epsilon { inside_root, outside_root };

struct NormOptions {
  double epsilon = 1e-5;
  bool detach_mean = false;   ///< the sweep treats the mean as a constant
  bool detach_scale = false;  ///< and likewise the divisor
  Epsilon place = Epsilon::inside_root;
  Variance variance = Variance::biased;
  bool identity_forward = false;  ///< the value is x; its gradient stays that of the normalization
  bool unit_factor = false;       ///< the gradient is projected, but not divided by s

  /// Whether the value is normalized, with the gradient of one of Xu et al.'s four forms.
  bool is_of_paper() const { return !identity_forward && !unit_factor; }
};

/// The general form of normalization: y = v / s with v = x - mean(x) over the center field and
/// s = sqrt(mean(v^2) + epsilon) or sqrt(mean(v^2)) + epsilon over the scale field (Ren et al.
/// 2017, table 1; Ba et al. 2016, eq. 5). A defined `smoothing` replaces epsilon: s =
/// sqrt(mean(v^2) + smoothing^2), differentiable in `smoothing`. With `identity_forward` or
/// `unit_factor`, the value is exactly x or y, and the gradient is that of
///
///     w + detach(value - w),   w = y or detach(s) y
///   x: any shape   smoothing: broadcasts to x   returns: x's shape
/// Throws ShapeError for fields that x does not have and groups that do not divide their axis;
/// ArgumentError for an unbiased variance over a window, smoothing outside the root, and an epsilon
/// that is negative or not finite.
/// Example: `normalize(images, both({.axes = {1, 2, 3}, .groups = 3}), {.epsilon = 1e-3})`
Tensor normalize(const Tensor& x, const NormFields& fields, const NormOptions& options = {},
                 const Tensor& smoothing = {}, Place = Place::here());

/// Layer normalization without gain and bias: gives each row, along the last axis, mean 0 and
/// variance v / (v + epsilon), for a row of variance v. LayerNorm-simple of Xu et al. 2019, section
/// 3.1; Ba et al. 2016, eq. 3. With detached statistics, the forms of Xu et al., section 3.3 (eq. 4
/// with both).
///   x: (..., H)   returns: same shape
/// Example: `layer_norm(x, {.detach_mean = true})`
Tensor layer_norm(const Tensor& x, const NormOptions& options = {}, Place = Place::here());

/// Divides each row by its root mean square (Zhang and Sennrich 2019, eq. 4). The paper's authors
/// add epsilon outside the root, LLaMA adds 1e-6 inside, as the default here.
///   x: (..., H)   returns: same shape
/// Example: `rms_norm(x)`
Tensor rms_norm(const Tensor& x, const NormOptions& options = {.epsilon = 1e-6},
                Place = Place::here());

struct AdaOptions {
  double factor = 1;          ///< C
  double slope = 0.1;         ///< k
  bool detach_factor = true;  ///< the sweep treats C (1 - k y) as a constant
};
/// C (1 - k y) y for a normalized y (AdaNorm; Xu et al. 2019, eq. 6 to 9).
/// Example: `ada_scale(layer_norm(x), {.slope = 0.2})`
Tensor ada_scale(const Tensor& y, const AdaOptions& options = {}, Place = Place::here());

/// gain v / |v|, with the Euclidean norm over `axes` (Salimans and Kingma 2016, eq. 2).
///   v: a weight   gain: broadcasts to it   returns: v's shape
/// Example: `weight_norm(x, ones({6}), 0)`
Tensor weight_norm(const Tensor& v, const Tensor& gain, const Axes& axes, Place = Place::here());

struct L2Options {
  int axis = -1;
  double epsilon = 1e-12;  ///< least length that counts
};
/// The directions of vectors along an axis: x / max(|x|, epsilon). A vector of zeros stays 0, and
/// one whose `norm` overflows becomes 0. torch's normalize.
///   x: any shape but a scalar   returns: same shape
/// Throws ShapeError for an axis that does not exist, ArgumentError unless epsilon > 0.
/// Elsewhere: `F.normalize`; along the last axis by default
/// Example: `l2_normalize(x, {.axis = 0})`
Tensor l2_normalize(const Tensor& x, L2Options options = {}, Place = Place::here());

namespace composite {
/// The definition of layer normalization (Ba et al. 2016, eq. 3), with the mean, the deviation or
/// both optionally constant for the sweep (Xu et al. 2019, section 3.3). It is the most common form
/// of `normalize`.
Tensor layer_norm(const Tensor& x, double epsilon = 1e-5, bool detach_mean = false,
                  bool detach_scale = false);
/// The definition of `normalize`, and so of `layer_norm` and `rms_norm`, in primitive operations.
Tensor normalize(const Tensor& x, const NormFields& fields, const NormOptions& options = {},
                 const Tensor& smoothing = {});
}  // namespace composite

}  // namespace tapegrad::TAPEGRAD_SCALAR
