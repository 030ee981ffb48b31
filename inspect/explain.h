#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Why the last sweep found this gradient for x: the way from the result to x on which most of it
/// came, with the factor of each edge, and the edge or the value at which it became zero, NaN or
/// infinite, or lost or gained most, with what its slope depends on, and where 0 times infinity
/// made it NaN; for `layer_norm`, which share of the gradient it re-centered and re-scaled away. Of
/// a long way only the edges next to x are listed. If no gradient came, where the way is cut. The
/// tape must keep values.
///   x: a leaf or any other node of the tape
/// Throws TapeError for a tape without `keep_values` or without a sweep, and for a tensor or
/// parameter that it does not hold.
/// Example: `Tape t({.keep_values = true}); auto w = watch(2.0); grad(w * w, w); explain(t, w)`
std::string explain(const Tape& tape, const Tensor& x);
std::string explain(const Tape& tape, const Parameter& x);
/// Explains each leaf, by its node. Throws the same for the tape.
/// Example: `Tape t({.keep_values = true}); auto w = watch(2.0); grad(w * w, w); explain_leaves(t)`
std::map<std::int32_t, std::string> explain_leaves(const Tape& tape);

}  // namespace tapegrad::TAPEGRAD_SCALAR
