#pragma once

#include <string>
#include <vector>

#include "tapegrad/core/tensor.h"

namespace tapegrad::testing {

/// What PyTorch found for one function; written by tests/golden/*.py.
struct Golden {
  std::vector<Tensor> inputs;
  Tensor value;
  Tensor seed;
  std::vector<Tensor> gradients;
};

/// The row of a file in tests/golden. Throws std::runtime_error if there is none.
Golden golden(const std::string& file, const std::string& row);

/// The largest difference of two tensors relative to the largest element of `expected`, or infinity
/// when the shapes differ.
double relative_error(const Tensor& found, const Tensor& expected);

/// Agreement with values computed elsewhere in double precision.
constexpr double golden_tolerance = sizeof(real) == 8 ? 1e-10 : 1e-5;

}  // namespace tapegrad::testing
