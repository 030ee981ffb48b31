#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::bench {

/// Does nothing but multiply-adds of vectors in registers, with the best instruction set of this
/// machine. A round has enough independent ones to hide their latency.
void multiply_adds(Index rounds);
/// The number of floating-point operations in these rounds.
double flops_of_multiply_adds(Index rounds);
/// The sum of an array, at the speed of its memory.
real sum_of(const real* x, Index count);

}  // namespace tapegrad::bench
