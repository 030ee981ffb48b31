#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// Windows of size by size over planes (height, width) that are padded on all sides.
struct PoolSizes {
  Index planes, height, width;
  Index size, stride, padding;
  Index out_height, out_width;
};
/// winners (planes, out_height, out_width): the position in x (planes, height, width) of the
/// greatest element of each window. Among equal ones the first wins; if there are NaNs, the last
/// wins. A task takes as many lines of windows as make it worthwhile. Positions in a plane fit 32
/// bits.
void max_pool(const PoolSizes& sizes, const real* x, Index* winners);

/// One line of windows over a plane of an image.
struct PoolLine {
  Index windows;
  Index top, bottom;  ///< the windows cover rows [top, bottom) of the plane
  Index width;        ///< of the plane
  Index size, stride, padding;
};

struct PoolLoops {
  /// best[j] = start + the position in the plane of the winner of window j
  void (*max)(const PoolLine& line, const real* plane, Index start, Index* best);
};
const PoolLoops& pool_loops();

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
