#pragma once

#include <span>

#include "tapegrad/core/shape.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// y[i] = x[positions[i]]. A task takes neighbouring positions.
void take(std::span<const Index> positions, const real* x, real* y);
/// total[positions[i]] += x[i] for positions of this shape, in order, because they may repeat. A
/// task takes some slices along the first axis, such as a pool's winners in an image, if the
/// positions in each lie behind those in the one before it; otherwise the calling thread takes all.
void scatter_add(const Index* positions, const Shape& shape, const real* x, real* total);

/// Row i of y (ids, width) = row ids[i] of the table. A task takes neighbouring rows.
void take_rows(std::span<const Index> ids, Index width, const real* table, real* y);
/// Row ids[i] of the total += row i of x (ids, width), in order on the calling thread.
void scatter_add_rows(std::span<const Index> ids, Index width, const real* x, real* total);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
