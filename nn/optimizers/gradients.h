#pragma once

#include <vector>

#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

// Undefined gradients, of parameters that a step skips, count as none and stay undefined.

/// The norm of all gradients together: the root of the sum of all squares, which may overflow or
/// vanish as in `norm`.
/// Example: `global_norm(grad(sum(net(x)), parameters(net)))`
double global_norm(const std::vector<Tensor>& gradients);

// Changes of gradients before a step of the optimizer. They throw ArgumentError for a limit that is
// not positive.

/// Scales all gradients so that their global norm is at most `limit` (Pascanu et al. 2013,
/// algorithm 1). An infinite element becomes NaN. Returns the norm before scaling.
/// Example: `auto found = grad(sum(net(x)), parameters(net)); clip_by_global_norm(found, 1)`
double clip_by_global_norm(std::vector<Tensor>& gradients, double limit);
/// Scales each gradient so that its own norm is at most `limit`. An infinite element becomes NaN.
/// Example: `auto found = grad(sum(net(x)), parameters(net)); clip_by_norm(found, 1)`
void clip_by_norm(std::vector<Tensor>& gradients, double limit);
/// Clamps each element to [-limit, limit].
/// Example: `auto found = grad(sum(net(x)), parameters(net)); clip_by_value(found, 0.1)`
void clip_by_value(std::vector<Tensor>& gradients, double limit);

/// Adds gradients to `total`, initially empty, to accumulate several small batches before a step.
/// Losses that are means over batches of different sizes must first be weighted: each by its share
/// of all examples.
/// Example: `std::vector<Tensor> total; accumulate(total, grad(sum(net(x)), parameters(net)))`
void accumulate(std::vector<Tensor>& total, const std::vector<Tensor>& gradients);

}  // namespace tapegrad::TAPEGRAD_SCALAR
