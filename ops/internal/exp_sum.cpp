#include "tapegrad/ops/internal/exp_sum.h"

#include "tapegrad/ops/kernels/softmax.h"

namespace tapegrad::TAPEGRAD_SCALAR::detail {

real exp_sum(const real* x, Index count, real shift, real* y) {
  return kernels::softmax_loops().exp_sum(x, count, shift, y);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::detail
