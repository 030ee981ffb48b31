#pragma once

#include <cstdint>

namespace tapegrad {

/// The library's product in the place of the loops of `batch_product`, in tapegrad_mini.h:
/// c (count, m, n) = a b, on one thread. a and b are (count, m, k) and (count, k, n), or stored
/// transposed.
void blocked_product(std::int64_t count, std::int64_t m, std::int64_t n, std::int64_t k,
                     const float* a, bool a_transposed, const float* b, bool b_transposed,
                     float* c);

}  // namespace tapegrad
