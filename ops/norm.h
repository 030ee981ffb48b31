#pragma once

#include "tapegrad/core/tape.h"

namespace tapegrad {

struct NormOptions {
  double epsilon = 1e-5;      ///< added to the variance, inside the root
  bool detach_mean = false;   ///< the mean is a constant of the backward sweep
  bool detach_scale = false;  ///< so is the standard deviation
};

/// Layer normalization without gain and bias: each row, along the last axis, to mean 0 and
/// variance v / (v + epsilon). LayerNorm-simple of Xu et al. 2019, section 3.1; Ba et al. 2016,
/// eq. 3. With detached statistics, the forms of Xu et al., section 3.3 (eq. 4 with both).
///   x: (..., H)   returns: same shape
/// Throws ShapeError for a scalar.
Tensor layer_norm(const Tensor& x, NormOptions options = {}, Place = Place::here());

namespace composite {
/// The definition of `layer_norm`, in primitive operations.
Tensor layer_norm(const Tensor& x, NormOptions options = {});
}  // namespace composite

}  // namespace tapegrad
