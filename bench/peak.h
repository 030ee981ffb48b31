#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::bench {

/// Does nothing but multiply-adds of vectors in registers, with the best instruction set of this
/// machine. A round has enough independent ones to hide their latency. Returns the number of
/// floating-point operations.
double multiply_adds(Index rounds);
/// Multiply-adds of bfloat16 numbers, by AMX or AVX512_BF16; 0 where there is neither.
double bfloat16_multiply_adds(Index rounds);
/// The sum of an array, at the speed of its memory.
real sum_of(const real* x, Index count);

}  // namespace tapegrad::bench
