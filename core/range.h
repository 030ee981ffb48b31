#pragma once

#include <string>

#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The smallest and largest value, the mean and the number of non-finite values.
/// Example: `const Range found = range(x); found.greatest - found.least`
struct Range {
  double least, greatest, mean;
  Index non_finite;
};
/// Example: `fmt::print("{}\n", to_string(range(x)))`
Range range(const Tensor& tensor);
std::string to_string(const Range& range);

}  // namespace tapegrad::TAPEGRAD_SCALAR
