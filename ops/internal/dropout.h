#pragma once

#include "tapegrad/core/internal/philox.h"
#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// `dropout` by choices that have been drawn: x over 1 - rate where one is yes, otherwise 0.
Tensor dropout_by(const Choices& choices, const Tensor& x, double rate, Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
