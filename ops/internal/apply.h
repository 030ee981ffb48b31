#pragma once

// Loops over the elements of whole tensors, for the operations that are made of them.

#include "tapegrad/core/tensor.h"
#include "tapegrad/ops/kernels/elementwise.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// loop over the elements of x. Both throw ShapeError, naming `operation`, for undefined tensors.
Tensor apply(const char* operation, kernels::Unary loop, const Tensor& x);
/// loop over the elements of two tensors; throws ShapeError too when they do not broadcast.
Tensor apply(const char* operation, kernels::Binary loop, const Tensor& a, const Tensor& b);
/// a += b, element by element, for tensors of one shape
void add_in_place(Tensor& a, const Tensor& b);
/// x stretched to a shape to which it broadcasts; x itself if it has that shape.
Tensor stretched(const Tensor& x, const Shape& shape);

}  // namespace tapegrad::TAPEGRAD_SCALAR
