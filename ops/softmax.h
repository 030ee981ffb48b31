#pragma once

#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// e^x / sum e^x along an axis, without overflow. -inf gives an exact 0. A row that is all -inf or
/// contains a NaN gives NaN.
/// Elsewhere: `F.softmax`
/// Example: `softmax(logits)`
Tensor softmax(const Tensor& x, int axis = -1, Place = Place::here());
/// log softmax(x), with -inf for -inf; otherwise as softmax.
/// Elsewhere: `F.log_softmax`
/// Example: `log_softmax(logits)`
Tensor log_softmax(const Tensor& x, int axis = -1, Place = Place::here());

namespace composite {
Tensor softmax(const Tensor& x, int axis = -1);
Tensor log_softmax(const Tensor& x, int axis = -1);
}  // namespace composite

}  // namespace tapegrad::TAPEGRAD_SCALAR
