#pragma once

// Element-wise operations on whole arrays, with the loops of elementwise.h. A task takes
// neighbouring elements, or neighbouring rows of a broadcast result, as many as the shape
// determines.

#include "tapegrad/core/shape.h"
#include "tapegrad/ops/kernels/elementwise.h"

namespace tapegrad::TAPEGRAD_SCALAR::kernels {

/// y[i] = loop(x[i])
void apply(Unary loop, Index count, const real* x, real* y);
/// y[i] = loop(a[i], b[i]); y may be a.
void apply(Binary loop, Index count, const real* a, const real* b, real* y);

/// An array that broadcasts to the shape of the result.
struct Operand {
  const real* values;
  const Shape& shape;
};
/// y (shape) = loop(a, b)
void apply(Binary loop, const Operand& a, const Operand& b, const Shape& shape, real* y);
/// y (shape) = x
void stretch(const Operand& x, const Shape& shape, real* y);

/// y[i] = a[i] where condition[i] is not 0, otherwise b[i]
void choose(Index count, const real* condition, const real* a, const real* b, real* y);

}  // namespace tapegrad::TAPEGRAD_SCALAR::kernels
