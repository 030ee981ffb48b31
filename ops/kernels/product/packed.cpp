#include "tapegrad/ops/kernels/product/packed.h"

#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/ops/kernels/product/panels.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

Packed::Packed(Index k, Index n, MatrixView b)
    : k_(k), n_(n), panels_(Storage::allocate(sizeof(real) * packed_size(k, n))) {
  parallel_ranges(n, panel_columns, [&](Index begin, Index end) {
    panel_loops().pack(k, end - begin, b.from(0, begin),
                       static_cast<real*>(panels_.data()) + begin * k);
  });
}

void Packed::multiply(Index m, MatrixView a, Start start, real* c, Index c_stride,
                      bool reversed) const {
  panel_loops().multiply_packed(m, n_, k_, a, static_cast<const real*>(panels_.data()), start, c,
                                c_stride, reversed);
}

void Packed::multiply_part(Index m, Index first, Index n, MatrixView a, real* c) const {
  panel_loops().multiply_packed(m, n, k_, a, static_cast<const real*>(panels_.data()) + first * k_,
                                {}, c, n, false);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
