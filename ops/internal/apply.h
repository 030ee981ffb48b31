#pragma once

// Loops over the elements of whole tensors, on which elementwise operations are built.

#include "tapegrad/core/tensor.h"
#include "tapegrad/ops/kernels/elementwise.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Applies `loop` to the elements of x. Both throw ShapeError, naming `operation` and `place`, for
/// undefined tensors. Within a PlaceScope, the place may be empty.
Tensor apply(const char* operation, const Place& place, kernels::Unary loop, const Tensor& x);
/// Applies `loop` to the elements of two tensors. Also throws ShapeError if they do not broadcast.
Tensor apply(const char* operation, const Place& place, kernels::Binary loop, const Tensor& a,
             const Tensor& b);
/// a += b, element by element, for tensors of one shape.
void add_in_place(Tensor& a, const Tensor& b);
/// x stretched to a shape that it broadcasts to; x itself if it has that shape.
Tensor stretched(const Tensor& x, const Shape& shape);

}  // namespace tapegrad::TAPEGRAD_SCALAR
