#pragma once

#include <optional>
#include <vector>

#include "tapegrad/core/tape.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The elements over which a statistic is taken: all of some axes, or a part of them.
///
///     {.axes = {-1}}                                  a row
///     {.axes = {1, 2, 3}, .groups = 4}                four groups of channels
///     {.axes = {1}, .window = {2, 3}, .radius = 2}    all channels within 5 x 5 positions
struct NormField {
  std::vector<int> axes = {};
  Index groups = 1;              ///< the first of the axes is cut into that many equal groups
  double share = 1;              ///< only this leading share of the last of the axes counts
  std::vector<int> window = {};  ///< along these axes only positions within `radius` count; at the
  Index radius = 0;              ///< borders the mean is over those that there are

  bool operator==(const NormField&) const = default;
};

/// What a normalization is made of: subtract the mean over one field (if there is one), divide by
/// the root of the mean square over another.
struct NormFields {
  std::optional<NormField> center;
  NormField scale;
};
/// The same field for both.
inline NormFields both(const NormField& field) { return {field, field}; }

enum class Epsilon { inside_root, outside_root };

struct NormOptions {
  double epsilon = 1e-5;
  bool detach_mean = false;   ///< the mean is a constant of the backward sweep
  bool detach_scale = false;  ///< so is what is divided by
  Epsilon place = Epsilon::inside_root;
  Variance variance = Variance::biased;
};

/// The general form of normalization: y = v / s with v = x - mean(x) over the center field and
/// s = sqrt(mean(v^2) + epsilon) or sqrt(mean(v^2)) + epsilon over the scale field (Ren et al.
/// 2017, table 1; Ba et al. 2016, eq. 5). A defined `smoothing` takes the place of epsilon: s =
/// sqrt(mean(v^2) + smoothing^2), differentiable in it.
///   x: any shape   smoothing: broadcasts to x   returns: x's shape
/// Throws ShapeError for fields that x does not have and groups that do not divide their axis;
/// ArgumentError for an unbiased variance over a window, smoothing outside the root, and an epsilon
/// that is negative or not finite.
Tensor normalize(const Tensor& x, const NormFields& fields, const NormOptions& options = {},
                 const Tensor& smoothing = {}, Place = Place::here());

/// Layer normalization without gain and bias: each row, along the last axis, to mean 0 and
/// variance v / (v + epsilon). LayerNorm-simple of Xu et al. 2019, section 3.1; Ba et al. 2016,
/// eq. 3. With detached statistics, the forms of Xu et al., section 3.3 (eq. 4 with both).
///   x: (..., H)   returns: same shape
Tensor layer_norm(const Tensor& x, const NormOptions& options = {}, Place = Place::here());

/// Each row over its root mean square (Zhang and Sennrich 2019, eq. 4): the root with epsilon
/// outside; LLaMA puts it inside, with 1e-6.
///   x: (..., H)   returns: same shape
Tensor rms_norm(const Tensor& x, const NormOptions& options = {.epsilon = 1e-6},
                Place = Place::here());

struct AdaOptions {
  double factor = 1;          ///< C
  double slope = 0.1;         ///< k
  bool detach_factor = true;  ///< C (1 - k y) is a constant of the backward sweep
};
/// C (1 - k y) y for a normalized y (AdaNorm; Xu et al. 2019, eq. 6 to 9).
Tensor ada_scale(const Tensor& y, const AdaOptions& options = {}, Place = Place::here());

/// gain v / |v| with the Euclidean norm over `axes` (Salimans and Kingma 2016, eq. 2).
///   v: a weight   gain: broadcasts to it   returns: v's shape
Tensor weight_norm(const Tensor& v, const Tensor& gain, const Axes& axes, Place = Place::here());

namespace composite {
/// The definition of layer normalization (Ba et al. 2016, eq. 3), with the mean, the deviation or
/// both taken as constants by the sweep (Xu et al. 2019, section 3.3): `normalize` in the form that
/// is most used.
Tensor layer_norm(const Tensor& x, double epsilon = 1e-5, bool detach_mean = false,
                  bool detach_scale = false);
/// The definition of `normalize`, and so of `layer_norm` and `rms_norm`, in primitive operations.
Tensor normalize(const Tensor& x, const NormFields& fields, const NormOptions& options = {},
                 const Tensor& smoothing = {});
}  // namespace composite

}  // namespace tapegrad::TAPEGRAD_SCALAR
