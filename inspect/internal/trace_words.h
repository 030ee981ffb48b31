#pragma once

#include <optional>
#include <set>
#include <string>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The epsilons of published code, for variances and roots.
constexpr double usual_epsilons[] = {0, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-12};

/// What the factor between two tensors may come from.
struct TraceSizes {
  std::set<Index> reduced;  ///< how many elements of an input make one of the tensor
  std::set<Index> extents;  ///< extents and sizes of the tensor and its inputs
  std::set<Index> runs;     ///< these, and products of extents of neighbouring axes
};

/// What c, by which a tensor is larger than the other, is known for, such as "2 times A: ...";
/// nothing for other numbers.
std::optional<std::string> known_factor(double c, const TraceSizes& sizes, const char* other,
                                        bool of_gradients);
/// What a number that is added may come from.
std::optional<std::string> known_shift(double c, const TraceSizes& sizes);

}  // namespace tapegrad::TAPEGRAD_SCALAR
