#include "tapegrad/nn/init.h"

#include <cmath>
#include <vector>

#include "tapegrad/core/error.h"

namespace tapegrad {
namespace {

using Columns = std::vector<std::vector<double>>;

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
  return total;
}

// Gram-Schmidt, twice over for the last digits.
Columns orthonormal(Index length, Index count, Random& random) {
  Columns columns;
  for (Index c = 0; c < count; ++c) {
    const Tensor drawn = random.normal({length});
    std::vector<double> column(drawn.values().begin(), drawn.values().end());
    for (int pass = 0; pass < 2; ++pass)
      for (const auto& other : columns) {
        const double along = dot(column, other);
        for (Index i = 0; i < length; ++i) column[i] -= along * other[i];
      }
    const double norm = std::sqrt(dot(column, column));
    for (double& value : column) value /= norm;
    columns.push_back(std::move(column));
  }
  return columns;
}

}  // namespace

Fans fans(const Shape& weight) {
  expect(weight.rank() == 2 || weight.rank() == 4,
         "fans: needs a weight (in, out) or (O, C, R, S): {}", weight);
  if (weight.rank() == 2) return {weight[0], weight[1]};
  const Index window = weight[2] * weight[3];
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
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  return random.uniform(shape, -bound, bound);
}

Tensor orthogonal(const Shape& weight, Random& random, Index blocks) {
  expect(weight.rank() == 2 && blocks >= 1 && weight[1] % blocks == 0,
         "orthogonal: {} blocks do not divide the columns of {}", blocks, weight);
  const Index rows = weight[0], columns = weight[1], width = columns / blocks;
  Tensor result = Tensor::uninitialized(weight);
  real* out = result.mutable_data();
  for (Index b = 0; b < blocks; ++b) {
    const bool tall = rows >= width;
    const Columns q = orthonormal(std::max(rows, width), std::min(rows, width), random);
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < width; ++j)
        out[i * columns + b * width + j] = static_cast<real>(tall ? q[j][i] : q[i][j]);
  }
  return result;
}

}  // namespace tapegrad
