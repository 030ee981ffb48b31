#pragma once

#include "tapegrad/core/random.h"
#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Sets each element to 0 with probability `rate`, and divides the others by 1 - rate (Srivastava
/// et al. 2014). As in PyTorch, an element that is dropped is multiplied by 0, so that NaN remains
/// and an infinity becomes NaN; its gradient is 0 whatever arrives. Throws ArgumentError unless 0
/// <= rate < 1.
/// Elsewhere: `F.dropout`
/// Example: `dropout(x, 0.1, random)`
Tensor dropout(const Tensor& x, double rate, Random& random, Place = Place::here());

namespace composite {
/// The definition. `dropout` draws the same numbers without storing them.
Tensor dropout(const Tensor& x, double rate, Random& random);
}  // namespace composite

}  // namespace tapegrad::TAPEGRAD_SCALAR
