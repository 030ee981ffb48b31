#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// The elements [begin, end) of an axis.
struct PoolWindow {
  Index begin, end;
};
/// Planes (height, width), and the windows along each of their axes. All windows lie inside the
/// planes and have elements.
struct PoolSizes {
  Index planes, height, width;
  std::span<const PoolWindow> rows, columns;
};
/// winners (planes, rows, columns): the position in x (planes, height, width) of the greatest
/// element of each window. Among equal ones the first wins; if there are NaNs, the last wins. A
/// task takes as many lines of windows as make it worthwhile. Positions in a plane fit 32 bits.
void max_pool(const PoolSizes& sizes, const real* x, Index* winners);

/// A position in a plane, as wide as an element.
using PoolPosition = std::conditional_t<sizeof(real) == 4, std::int32_t, std::int64_t>;

/// One line of windows over a plane of an image.
struct PoolLine {
  Index windows;
  PoolWindow rows;  ///< of the plane, which all these windows cover
  Index width;      ///< of the plane
  /// Window j covers the columns [begins[j], ends[j]), at most `longest`. Behind both
  /// arrays there is room for another `lanes` windows, without elements.
  const PoolPosition *begins, *ends;
  Index longest;
  Index stride;     ///< columns from one begin to the next; 0: neither always 1 nor always 2
  const real* end;  ///< of all planes
};

struct PoolLoops {
  Index lanes;  ///< windows at a time
  /// best[j] = start + the position in the plane of the winner of window j
  void (*max)(const PoolLine& line, const real* plane, Index start, Index* best);
};
const PoolLoops& pool_loops();

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
