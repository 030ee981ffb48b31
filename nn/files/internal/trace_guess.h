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
};

/// Two tensors that should be the same and are not.
struct TraceDifference {
  Tensor a, b;
  std::vector<TraceOperand> operands = {};  ///< the inputs of the operation
  std::vector<TraceOperand> inputs = {};    ///< these, and their inputs
  std::vector<TraceOperand> present = {};   ///< others, of any shape
  bool of_gradients = false;
  /// Whether a candidate explains what b (or a) is: whether they agree up to rounding.
  std::function<bool(const Tensor& candidate, const Tensor& actual)> agree = {};
};

/// What turns a into b, or b into a, in words: "B looks as with the unbiased variance". "" if no
/// simple transformation does.
std::string guess_cause(const TraceDifference& difference);

}  // namespace tapegrad::TAPEGRAD_SCALAR
