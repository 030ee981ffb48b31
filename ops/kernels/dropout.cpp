#include "tapegrad/ops/kernels/dropout.h"

#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/machine/profile.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

void dropout(const Choices& choices, real factor, Binary product, Index count, const real* x,
             real* y) {
  count_pass(count, count);
  parallel_ranges(count, elements_per_tile, [&](Index begin, Index end) {
    choices.read(begin, end - begin, factor, y + begin);
    product({x + begin, false}, {y + begin, false}, y + begin, end - begin);
  });
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
