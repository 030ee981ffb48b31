#include "blocked_product.h"

#include "tapegrad/ops/kernels/product/gemm.h"

namespace tapegrad {

void blocked_product(std::int64_t count, std::int64_t m, std::int64_t n, std::int64_t k,
                     const float* a, bool a_transposed, const float* b, bool b_transposed,
                     float* c) {
  for (; count > 0; --count, a += m * k, b += k * n, c += m * n)
    kernels::gemm_serial(m, n, k, {a, a_transposed ? m : k, a_transposed},
                         {b, b_transposed ? k : n, b_transposed}, {}, c, n);
}

}  // namespace tapegrad
