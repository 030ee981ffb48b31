#include "tapegrad/nn/data/examples.h"

#include <algorithm>
#include <cmath>

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

template <class Array>
Array copied_rows(const Array& x, std::span<const Index> chosen) {
  expect_defined("take_rows", x);
  expect(x.shape().rank() >= 1, "take_rows: a scalar has no rows: {}", x.shape());
  const Index count = x.shape()[0], size = count > 0 ? x.size() / count : 0;
  Array result = Array::uninitialized(x.shape().with(0, static_cast<Index>(chosen.size())));
  auto* out = result.mutable_data();
  for (const Index row : chosen) {
    expect(0 <= row && row < count, "take_rows: row {} is not in [0, {})", row, count);
    out = std::copy_n(x.data() + row * size, size, out);
  }
  return result;
}

}  // namespace

Tensor take_rows(const Tensor& x, std::span<const Index> chosen) { return copied_rows(x, chosen); }

Indices take_rows(const Indices& x, std::span<const Index> chosen) {
  return copied_rows(x, chosen);
}

Index detail::split_size(Index count, double share) {
  expect<ArgumentError>(share >= 0 && share <= 1, "random_split: the share is not in [0, 1]: {}",
                        share);
  return std::llround(share * static_cast<double>(count));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
