#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::bench {

/// Does nothing but multiply-adds of vectors in registers, `rounds` times as many as hide their
/// latency, with the best instruction set of this machine.
void multiply_adds(Index rounds);
/// How many floating-point operations that is.
double flops_of_multiply_adds(Index rounds);
/// The sum of an array, at the speed of its memory.
real sum_of(const real* x, Index count);

}  // namespace tapegrad::bench
