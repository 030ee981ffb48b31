#pragma once

#include <vector>

#include "tapegrad/core/error.h"
#include "tapegrad/core/parameter.h"

namespace tapegrad::TAPEGRAD_SCALAR {

// Checks of the options of a layer, an optimizer or a schedule. Each throws ArgumentError, naming
// the owner ("Linear"), the option ("in") and the value. Checks of numbers return the value.

/// A size or a count of at least 1.
/// Example: `const Index heads = expect_positive("Encoder", "heads", 4)`
Index expect_positive(const char* owner, const char* option, Index value);
/// A count, or a finite number, of at least 0.
/// Example: `const double decay = expect_not_negative("Encoder", "decay", 0.1)`
Index expect_not_negative(const char* owner, const char* option, Index value);
double expect_not_negative(const char* owner, const char* option, double value);
/// A share in [0, 1), such as a dropout rate or the decay of an average.
/// Example: `const double rate = expect_share("Encoder", "dropout", 0.1)`
double expect_share(const char* owner, const char* option, double value);
/// For an option that the owner ignores: it must have its default value.
/// Example: `expect_default("Encoder", "tied", true, true)`
template <class T>
void expect_default(const char* owner, const char* option, const T& value, const T& usual = {}) {
  expect<ArgumentError>(value == usual, "{}: {} has no effect: {}; leave it out", owner, option,
                        value);
}
/// Parameters must be defined and listed only once.
/// Example: `expect_distinct("Average", parameters(net))`
void expect_distinct(const char* owner, const std::vector<Parameter>& parameters);

}  // namespace tapegrad::TAPEGRAD_SCALAR
