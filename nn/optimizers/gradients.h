#pragma once

#include <vector>

#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

// Each changes gradients before a step of the optimizer; all throw ArgumentError for a limit that
// is not positive.

/// Scales all gradients so that their common norm is at most `limit` (Pascanu et al. 2013,
/// algorithm 1). Returns the norm before.
double clip_by_global_norm(std::vector<Tensor>& gradients, double limit);
/// Scales each gradient so that its own norm is at most `limit`.
void clip_by_norm(std::vector<Tensor>& gradients, double limit);
/// Limits each element to [-limit, limit].
void clip_by_value(std::vector<Tensor>& gradients, double limit);

/// Adds gradients to those accumulated so far (none at first): several small batches before a step.
void accumulate(std::vector<Tensor>& total, const std::vector<Tensor>& gradients);

}  // namespace tapegrad::TAPEGRAD_SCALAR
