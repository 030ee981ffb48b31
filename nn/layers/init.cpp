#include "tapegrad/nn/layers/init.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tapegrad/core/error.h"
#include "tapegrad/core/options.h"
#include "tapegrad/ops/kernels/product/gemm.h"
#include "tapegrad/ops/kernels/reduce.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// Projects the orthonormal rows before them out of `count` rows.
void project_out(real* basis, Index known, Index count, Index length) {
  real* rows = basis + known * length;
  std::vector<real> along(static_cast<std::size_t>(count * known));
  kernels::gemm(count, known, length, {rows, length}, {basis, length, true}, {}, along.data(),
                known);
  for (real& value : along) value = -value;
  kernels::gemm(count, length, known, {along.data(), known}, {basis, length}, {rows, length}, rows,
                length);
}

// Gram-Schmidt, row by row.
void orthonormalize(real* rows, Index count, Index length) {
  const auto dot = kernels::reduce().dot;
  for (real* row = rows; row != rows + count * length; row += length) {
    for (const real* other = rows; other != row; other += length) {
      const real along = dot(row, other, length);
      for (Index j = 0; j < length; ++j) row[j] -= along * other[j];
    }
    const real scale = 1 / std::sqrt(dot(row, row, length));
    for (Index j = 0; j < length; ++j) row[j] *= scale;
  }
}

// Returns (count, length). Uses Gram-Schmidt in blocks of rows, so that matrix products do most of
// the work, and repeats it for the last digits.
Tensor orthonormal_rows(Index count, Index length, Random& random) {
  constexpr Index block = 32;
  Tensor result = Tensor::uninitialized({count, length});
  real* rows = result.mutable_data();
  for (Index i = 0; i < count; ++i) {
    const Tensor drawn = random.normal({length});
    std::copy_n(drawn.data(), length, rows + i * length);
  }
  for (Index begin = 0; begin < count; begin += block)
    for (int pass = 0; pass < 2; ++pass) {
      const Index size = std::min(block, count - begin);
      if (begin > 0) project_out(rows, begin, size, length);
      orthonormalize(rows + begin * length, size, length);
    }
  return result;
}

}  // namespace

Fans fans(const Shape& weight) {
  expect(weight.rank() >= 2 && weight.rank() <= 4,
         "fans: needs a weight (in, out), (O, C, R) or (O, C, R, S): {}", weight);
  if (weight.rank() == 2) return {weight[0], weight[1]};
  const Index window = weight.count(2, weight.rank());
  return {weight[1] * window, weight[0] * window};
}

Tensor xavier_uniform(const Shape& weight, Random& random, double gain) {
  const auto [in, out] = fans(weight);
  const double bound = gain * std::sqrt(6.0 / static_cast<double>(in + out));
  return random.uniform(weight, -bound, bound);
}

Tensor xavier_normal(const Shape& weight, Random& random, double gain) {
  const auto [in, out] = fans(weight);
  return random.normal(weight, 0, gain * std::sqrt(2.0 / static_cast<double>(in + out)));
}

Tensor kaiming_uniform(const Shape& weight, Random& random) {
  const double bound = std::sqrt(6.0 / static_cast<double>(fans(weight).in));
  return random.uniform(weight, -bound, bound);
}

Tensor kaiming_normal(const Shape& weight, Random& random) {
  return random.normal(weight, 0, std::sqrt(2.0 / static_cast<double>(fans(weight).in)));
}

Tensor fan_in_uniform(const Shape& shape, Index fan_in, Random& random) {
  const double bound =
      1 / std::sqrt(static_cast<double>(expect_positive("fan_in_uniform", "fan_in", fan_in)));
  return random.uniform(shape, -bound, bound);
}

Tensor orthogonal(const Shape& weight, Random& random, Index blocks) {
  expect<ArgumentError>(weight.rank() == 2 && blocks >= 1 && weight[1] % blocks == 0,
                        "orthogonal: {} blocks do not divide the columns of {}", blocks, weight);
  const Index rows = weight[0], columns = weight[1], width = columns / blocks;
  Tensor result = Tensor::uninitialized(weight);
  real* out = result.mutable_data();
  for (Index b = 0; b < blocks; ++b) {
    const bool tall = rows >= width;
    const Tensor drawn = orthonormal_rows(std::min(rows, width), std::max(rows, width), random);
    const Tensor q = tall ? transpose(drawn) : drawn;
    for (Index i = 0; i < rows; ++i)
      std::copy_n(q.data() + i * width, width, out + i * columns + b * width);
  }
  return result;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
