#pragma once

#include <string>

#include "tapegrad/inspect/trace.h"

namespace tapegrad::TAPEGRAD_SCALAR {

struct TraceDiffOptions {
  double tolerance = 32;  ///< in ULPs; smaller differences are rounding
};

/// What two traces have in common, and where they begin to differ.
/// Example: `const TraceDiff diff = compare_traces({}, {}); fmt::print("{}", diff.report)`
struct TraceDiff {
  Index pairs = 0;         ///< values that both have
  Index values = 0;        ///< pairs of which the values differ
  Index gradients = 0;     ///< and of which the gradients do
  Index alone = 0;         ///< parameters that only one has, of traces by one framework
  double rounding = 0;     ///< the largest difference that does not count, in ULPs
  std::string first = {};  ///< the name in A of the first pair that differs
  bool first_is_gradient = false;
  std::string guess = {};   ///< what the first difference looks like; may be ""
  std::string report = {};  ///< all this in words, of several lines

  /// Whether nothing differs; false for traces that have nothing in common.
  bool equal() const { return pairs > 0 && values + gradients + alone == 0; }
};

/// Aligns the values of two traces by their names, and between these by values, operations and
/// order; parameters of other names, by their values and shapes. Between frameworks, the weight of
/// a linear layer may be transposed, and the same elements may have another shape. The first
/// difference is the first value that differs, in the order of A; if the values agree, it is the
/// first gradient in the order of the sweep. Distances are in units of the last place of the
/// largest element, in the lowest precision of A, B and `real`; for a gradient, of its largest
/// summand. Throws ArgumentError for a tolerance below 0.
/// Example: `Tape t({.keep_values = true}); compare_traces(trace(t, {}), {}, {.tolerance = 8})`
TraceDiff compare_traces(const Trace& a, const Trace& b, const TraceDiffOptions& options = {});

}  // namespace tapegrad::TAPEGRAD_SCALAR
