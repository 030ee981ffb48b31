#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad {

// Checks of what a layer, an optimizer or a schedule is made with. Each returns the value, or
// throws ShapeError, naming the owner ("Linear"), the option ("in") and the value.

/// A size or a count of at least 1.
Index expect_positive(const char* owner, const char* option, Index value);
/// A count, or a finite number, of at least 0.
Index expect_not_negative(const char* owner, const char* option, Index value);
double expect_not_negative(const char* owner, const char* option, double value);
/// A share in [0, 1), such as a rate of dropout or the decay of an average.
double expect_share(const char* owner, const char* option, double value);

}  // namespace tapegrad
