#pragma once

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// Loops over rectangles whose rows begin `from_stride` and `to_stride` elements apart. They are
/// for rows so short that a call per row would cost more than the row itself.
struct Blocks {
  void (*copy)(Index rows, Index columns, const real* from, Index from_stride, real* to,
               Index to_stride);
  /// to += from
  void (*add)(Index rows, Index columns, const real* from, Index from_stride, real* to,
              Index to_stride);
};
const Blocks& blocks();

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
