#include "tapegrad/io/examples.h"

#include <algorithm>
#include <cmath>

#include "tapegrad/core/tape.h"

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

template <class Array>
Array rows_between(const Array& x, Index begin, Index end) {
  expect_defined("part", x);
  expect(x.shape().rank() >= 1, "part: a scalar has no rows: {}", x.shape());
  const Index count = x.shape()[0], size = count > 0 ? x.size() / count : 0;
  expect(0 <= begin && begin <= end && end <= count, "part: [{}, {}) is not within {} rows", begin,
         end, count);
  if (end - begin == count) return x;
  return Array(x.shape().with(0, end - begin),
               x.values().subspan(static_cast<std::size_t>(begin * size),
                                  static_cast<std::size_t>((end - begin) * size)));
}

}  // namespace

Tensor take_rows(const Tensor& x, std::span<const Index> chosen) { return copied_rows(x, chosen); }

Indices take_rows(const Indices& x, std::span<const Index> chosen) {
  return copied_rows(x, chosen);
}

Tensor part(const Tensor& x, Index begin, Index end) { return rows_between(detach(x), begin, end); }
Indices part(const Indices& x, Index begin, Index end) { return rows_between(x, begin, end); }

Index detail::split_size(Index count, double share) {
  expect<ArgumentError>(share >= 0 && share <= 1, "random_split: the share is not in [0, 1]: {}",
                        share);
  return std::llround(share * static_cast<double>(count));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
