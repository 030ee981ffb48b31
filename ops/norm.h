#pragma once

#include "tapegrad/core/tape.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Example: `rms_norm(x, {.epsilon = 1e-8, .place = Epsilon::outside_root})`
enum class Epsilon { inside_root, outside_root };

struct NormOptions {
  double epsilon = 1e-5;
  bool detach_mean = false;   ///< the sweep treats the mean as a constant
  bool detach_scale = false;  ///< and likewise the divisor
  Epsilon place = Epsilon::inside_root;
  Variance variance = Variance::biased;
  bool identity_forward = false;  ///< the value is x; the gradient is the normalization's
  bool unit_factor = false;       ///< the gradient is projected, but not divided by s

  /// Whether the value is normalized, with the gradient of one of Xu et al.'s four forms.
  bool is_of_paper() const { return !identity_forward && !unit_factor; }
};

/// Layer normalization without gain and bias: gives each row, along the last axis, mean 0 and
/// variance v / (v + epsilon), for a row of variance v. LayerNorm-simple of Xu et al. 2019, section
/// 3.1; Ba et al. 2016, eq. 3. With detached statistics, the forms of Xu et al., section 3.3 (eq. 4
/// with both).
///   x: (..., H)   returns: same shape
/// A row with a NaN or an infinity becomes NaN, as does its gradient.
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

/// gain v / |v|, with the Euclidean norm over `axes` (Salimans and Kingma 2016, eq. 2). Where v is
/// all 0, so is the result, and the gradient equals the gradient of gain v.
///   v: a weight   gain: broadcasts to it   returns: v's shape
/// Example: `weight_norm(x, ones({6}), 0)`
Tensor weight_norm(const Tensor& v, const Tensor& gain, const Axes& axes, Place = Place::here());

namespace composite {
/// The definition of `layer_norm` (Ba et al. 2016, eq. 3), with the mean, the deviation or both
/// constant for the sweep where they are detached (Xu et al. 2019, section 3.3).
Tensor layer_norm(const Tensor& x, const NormOptions& options = {});
/// The definition of `rms_norm`.
Tensor rms_norm(const Tensor& x, const NormOptions& options = {.epsilon = 1e-6});
}  // namespace composite

}  // namespace tapegrad::TAPEGRAD_SCALAR
