#pragma once

#include "tapegrad/core/internal/philox.h"
#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// `dropout` with given choices: x / (1 - rate) where the choice is yes, otherwise 0.
Tensor dropout_by(const Choices& choices, const Tensor& x, double rate, Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
