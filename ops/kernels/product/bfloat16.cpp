#include "tapegrad/ops/kernels/product/bfloat16.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

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
  const auto number = static_cast<float>(x);
  if (!std::isfinite(number)) return x;
  if (std::abs(number) < std::numeric_limits<float>::min()) return std::copysign(real{0}, x);
  const auto bits = std::bit_cast<std::uint32_t>(number);
  const std::uint32_t last = bits >> 16 & 1;
  return static_cast<real>(std::bit_cast<float>((bits + 0x7fff + last) & 0xffff0000));
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
