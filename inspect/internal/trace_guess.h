#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// A tensor of a trace that a difference may be made of, and its name.
struct TraceOperand {
  std::string name;
  Tensor value;
  bool of_a, named;
  bool common = true;  ///< whether the other trace has it too
};

/// Two tensors that should be the same and are not.
struct TraceDifference {
  Tensor a, b;
  std::vector<TraceOperand> operands = {};  ///< what the operation is computed from
  std::vector<TraceOperand> inputs =
      {};  ///< these and what they are computed from, the nearest first
  std::vector<TraceOperand> present = {};  ///< others, of any shape
  bool of_gradients = false;
  /// How far a candidate is from what b (or a) is, in ULPs.
  std::function<double(const Tensor& candidate, const Tensor& actual)> apart = {};
  double tolerance = 0;  ///< in ULPs: a candidate that is no further away explains it

  bool agree(const Tensor& candidate, const Tensor& actual) const {
    return apart(candidate, actual) <= tolerance;
  }
};

/// What turns a into b, or b into a, in words: "B looks as with the unbiased variance". "" if no
/// simple transformation does.
std::string guess_cause(const TraceDifference& difference);
/// The cause, if elements are hidden in one of them alone, as by dropout.
std::string guess_mask(const TraceDifference& difference);
/// What is known of the difference if no cause is: where the tensors differ, such as "they differ
/// only at position 0 of 5 along axis 1", or what only one of them is computed from.
std::string guess_part(const TraceDifference& difference);

}  // namespace tapegrad::TAPEGRAD_SCALAR
