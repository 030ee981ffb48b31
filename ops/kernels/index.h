#pragma once

#include <span>

#include "tapegrad/core/real.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// y[i] = x[positions[i]]. A task takes neighbouring positions.
void take(std::span<const Index> positions, const real* x, real* y);
/// total[positions[i]] += x[i], in order on the calling thread, because positions may repeat.
void scatter_add(std::span<const Index> positions, const real* x, real* total);

/// Row i of y (ids, width) = row ids[i] of the table. On the calling thread.
void take_rows(std::span<const Index> ids, Index width, const real* table, real* y);
/// Row ids[i] of the total += row i of x (ids, width), in order on the calling thread.
void scatter_add_rows(std::span<const Index> ids, Index width, const real* x, real* total);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
