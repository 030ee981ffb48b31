#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <vector>

#include "tapegrad/core/indices.h"
#include "tapegrad/core/tensor.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::testing {

using Tensors = std::vector<Tensor>;
using In = const Tensors&;  ///< the inputs of a function

constexpr real infinity = std::numeric_limits<real>::infinity();
constexpr real no_number = std::numeric_limits<real>::quiet_NaN();

inline std::vector<real> values_of(const Tensor& x) {
  return {x.values().begin(), x.values().end()};
}

/// 0, 1, 2, ... in a shape: elements that all differ.
inline Tensor numbered(const Shape& shape) { return arange(shape.size()).view(shape); }

/// Whether the elements are exactly these.
inline bool is(const Tensor& x, const std::vector<real>& expected) {
  return std::ranges::equal(x.values(), expected);
}
inline bool is(const Tensor& x, const Shape& shape, const std::vector<real>& expected) {
  return x.shape() == shape && is(x, expected);
}
inline bool is(const Indices& x, const std::vector<Index>& expected) {
  return std::ranges::equal(x.values(), expected);
}

/// Whether shapes and bits are the same; -0 differs from 0.
inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() &&
         std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * sizeof(real)) == 0;
}

/// The largest difference of two elements.
inline double distance(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  return a.size() == 0 ? 0 : max(abs(a - b)).item();
}

}  // namespace tapegrad::testing
