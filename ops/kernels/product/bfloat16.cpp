#include "tapegrad/ops/kernels/product/bfloat16.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tapegrad/ops/kernels/product/panels.h"
#include "tapegrad/ops/kernels/scratch.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {
namespace {

// A matrix (rows, columns), rounded and row-major.
MatrixView rounded(Index rows, Index columns, MatrixView from, real* to) {
  for (Index row = 0; row < rows; ++row)
    for (Index column = 0; column < columns; ++column)
      to[row * columns + column] = rounded_to_bfloat16(*from.from(row, column).values);
  return {to, columns};
}

}  // namespace

real rounded_to_bfloat16(real x) {
  using Bits = std::conditional_t<sizeof(real) == sizeof(float), std::uint32_t, std::uint64_t>;
  constexpr int dropped = std::numeric_limits<real>::digits - 8;
  constexpr real largest = std::numeric_limits<float>::max();
  if (!std::isfinite(x)) return x;
  if (std::abs(x) < std::numeric_limits<float>::min()) return std::copysign(real{0}, x);
  const auto bits = std::bit_cast<Bits>(x);
  const Bits half = Bits{1} << (dropped - 1), last = bits >> dropped & 1;
  const auto rounded = std::bit_cast<real>((bits + half - 1 + last) >> dropped << dropped);
  if (std::abs(rounded) <= largest) return rounded;
  return std::copysign(std::numeric_limits<real>::infinity(), x);
}

void multiply_rounded(Index m, Index n, Index k, MatrixView a, MatrixView b, Start start, real* c,
                      Index c_stride) {
  const Scratch left(m * k), right(k * n);
  panel_loops().multiply(m, n, k, rounded(m, k, a, left.data()), rounded(k, n, b, right.data()),
                         start, c, c_stride);
}

Bfloat16Product bfloat16_product() {
  static const Bfloat16Product best = amx_bfloat16()      ? amx_bfloat16()
                                      : avx512_bfloat16() ? avx512_bfloat16()
                                                          : &multiply_rounded;
  return best;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
