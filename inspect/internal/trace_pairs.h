#pragma once

#include <functional>
#include <vector>

#include "tapegrad/inspect/trace.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Two values, by their positions, that stand for the same. Transposed: a parameter that one of the
/// traces has in another layout.
struct TracePair {
  std::size_t a, b;
  bool transposed = false;
};

/// Whether two values are equal up to rounding.
using TracesAgree = std::function<bool(const Tensor& a, const Tensor& b)>;

/// The position of the value that an input is, detached or not.
std::size_t operand(Index input);

/// Whether a field of the net holds the value.
bool is_field(const TracedValue& value);

/// Pairs of values of two traces, by a. Parameters, buffers and values of one name are pairs, the
/// first with the first. Parameters of names that only one trace has are pairs if they are equal,
/// or each other's transpose, or alone in their shape. Values that are computed from the same of
/// these are pairs, in whatever order, if they and their gradients are equal; so are the same
/// operations of the same inputs. Of other values, those between two pairs are aligned in order:
/// first by value, then by operation, origin and shape. Where operations are left in both traces,
/// the last ones are a pair: a fused operation is the last one of its definition. Of more than 12
/// million possible pairs, only the values that agree at the beginning and end are aligned. Two
/// values without a common name that differ are no pair if nothing that differs is computed from
/// them.
///   slack: values that agree differ, on average, by at most this part of the sum of all elements
std::vector<TracePair> pair_traces(const Trace& a, const Trace& b, const TracesAgree& agree,
                                   double slack);

}  // namespace tapegrad::TAPEGRAD_SCALAR
