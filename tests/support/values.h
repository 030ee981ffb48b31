#pragma once

#include <vector>

#include "tapegrad/core/tensor.h"

namespace tapegrad::testing {

inline std::vector<real> values_of(const Tensor& x) {
  return {x.values().begin(), x.values().end()};
}

/// 0, 1, 2, ... in a shape: elements that all differ.
inline Tensor numbered(const Shape& shape) { return arange(shape.size()).view(shape); }

}  // namespace tapegrad::testing
