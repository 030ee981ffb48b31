#include "tapegrad/ops/kernels/dropout.h"

#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/machine/profile.h"
#include "tapegrad/ops/kernels/elementwise.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

void dropout(const Choices& choices, real factor, Index count, const real* x, real* y) {
  count_pass(count, count);
  parallel_ranges(count, elements_per_tile, [&](Index begin, Index end) {
    choices.read(begin, end - begin, factor, y + begin);
    elementwise().mul({y + begin, false}, {x + begin, false}, y + begin, end - begin);
  });
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
