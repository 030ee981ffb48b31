#pragma once

#include <functional>
#include <string>

#include "tapegrad/core/tensor.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// How the elements of `from` are arranged in `to`, in words that follow "B": "is transposed: ...",
/// "is reversed along axis 0", "has 4 blocks of axis 1 in the order 0 2 1 3"; "" if they are not
/// the same elements up to rounding, as `agree` judges it, or more than 4 axes.
std::string arrangement(const Tensor& from, const Tensor& to,
                        const std::function<bool(const Tensor&, const Tensor&)>& agree);

}  // namespace tapegrad::TAPEGRAD_SCALAR
