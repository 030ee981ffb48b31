#pragma once

#include <span>

#include "tapegrad/ops/kernels/axis.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// y = x with its axes in another order. y has the `extents`; neighbours along an axis of y are
/// apart in x by its stride in `strides`. A task takes neighbouring rows of y.
void permute(std::span<const Index> extents, std::span<const Index> strides, const real* x,
             real* y);

/// `count` positions of an axis: begin, begin + step, ... Slices are read and written on the
/// calling thread, in runs of elements that are consecutive in memory.
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
