#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// One line of windows over a plane of an image.
struct PoolLine {
  Index windows;
  Index top, bottom;  ///< rows [top, bottom) of the plane, of those that the windows cover
  Index width;        ///< of the plane
  Index size, stride, padding;
};

struct Pool {
  /// best[j] = start + the position in the plane of window j's greatest element: the first of equal
  /// ones, the last NaN if there is one.
  void (*max)(const PoolLine& line, const real* plane, Index start, Index* best);
};
const Pool& pool();

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
