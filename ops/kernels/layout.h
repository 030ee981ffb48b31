#pragma once

#include <span>

#include "tapegrad/ops/kernels/axis.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// y = x with its axes in another order; extents of y, and how far apart neighbours along each axis
/// of y are in x. A task takes as many rows of y as are worth one.
void permute(std::span<const Index> extents, std::span<const Index> strides, const real* x,
             real* y);

/// Positions begin, begin + step, ... of an axis of a whole, `count` of them. Those that are
/// consecutive in memory are copied or added together, all on the calling thread.
struct Slice {
  AlongAxis whole;
  Index begin, count, step;
};
/// part (outer, count, inner) = the slice of the whole.
void take_slice(const Slice& slice, const real* whole, real* part);
/// The slice of the whole = part (outer, count, inner).
void put_slice(const Slice& slice, const real* part, real* whole);
/// The slice of the whole += part (outer, count, inner).
void add_slice(const Slice& slice, const real* part, real* whole);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
