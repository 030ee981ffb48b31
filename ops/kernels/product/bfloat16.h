#pragma once

#include "tapegrad/ops/kernels/product/gemm.h"

// Products of numbers in bfloat16, which has the 8 exponent bits of a float and 8 significant bits.
// The product of two such numbers is exact in a float, so c is what the loops for floats give for
// rounded operands, and is summed like it (gemm.h). AVX512_BF16 gives the same bits, twice the
// multiply-adds in an instruction. AMX gives sums in another order, 16 times the multiply-adds.
// Operands too small for a normal float count as 0. Products and sums that are so small count as 0
// in AVX512_BF16 and AMX, which no setting changes, and are kept by float operations.

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// The nearest number that bfloat16 has; of two equally near ones, the one with an even last bit.
real rounded_to_bfloat16(real x);

/// Computes the tile c (m, n) = start + a (m, k) b (k, n) of numbers that count as rounded, on the
/// calling thread. The bits of an element do not depend on the tile.
using Bfloat16Product = void (*)(Index m, Index n, Index k, MatrixView a, MatrixView b, Start start,
                                 real* c, Index c_stride);

/// By float operations, on any processor.
void multiply_rounded(Index m, Index n, Index k, MatrixView a, MatrixView b, Start start, real* c,
                      Index c_stride);
/// By AVX512_BF16 and by AMX; null if the processor, the system or TAPEGRAD_TARGET does not have
/// it.
Bfloat16Product avx512_bfloat16();
Bfloat16Product amx_bfloat16();

/// The fastest of the three here.
Bfloat16Product bfloat16_product();

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
