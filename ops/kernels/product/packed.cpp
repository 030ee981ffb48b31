#include "tapegrad/ops/kernels/product/packed.h"

#include <algorithm>

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

void Packed::multiply(Index m, MatrixView a, Start start, real* c, Index c_stride, bool reversed,
                      Index parts) const {
  if (parts == 1) return multiply_part(m, 0, n_, a, start, c, c_stride, reversed);
  const auto pieces = [](Index whole, Index size) { return (whole + size - 1) / size; };
  // Columns first, since each panel is then read by one thread.
  const Index panels = pieces(n_, packed_columns);
  const Index columns = pieces(panels, parts) * packed_columns, across = pieces(n_, columns);
  const Index rows = pieces(m, std::max<Index>(1, parts / across));
  parallel_for(across * pieces(m, rows), [&](Index part) {
    const Index row = part / across * rows, column = part % across * columns;
    multiply_part(std::min(rows, m - row), column, std::min(columns, n_ - column), a.from(row, 0),
                  start.from(row, column), c + row * c_stride + column, c_stride, reversed);
  });
}

void Packed::multiply_part(Index m, Index first, Index n, MatrixView a, Start start, real* c,
                           Index c_stride, bool reversed) const {
  panel_loops().multiply_packed(m, n, k_, a, static_cast<const real*>(panels_.data()) + first * k_,
                                start, c, c_stride, reversed);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
