#pragma once

#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// Which operands of a product to read with their last two axes transposed (without a copy).
/// Example: `matmul(x, y, Transposed{.b = true})`
struct Transposed {
  bool a = false, b = false;
};

/// The matrix product over the last two axes. In it, in its gradients and in the functions below,
/// 0 times infinity or NaN is NaN.
///   a: (..., m, k), or (..., k, m) if transposed    b: (..., k, n), or (..., n, k)
///   returns (..., m, n); the leading axes broadcast.
/// A vector is a row on the left and a column on the right, and the result lacks that axis:
///   a: (k)   b: (..., k, n)   returns (..., n)
/// Throws ShapeError for inner sizes that differ, leading axes that do not broadcast, scalars and
/// transposed vectors.
/// Elsewhere: `torch.matmul`, `@`, `bmm`; leading axes broadcast
/// Example: `matmul(x, y, {.b = true})`
Tensor matmul(const Tensor& a, const Tensor& b, Transposed transposed = {}, Place = Place::here());

/// x weight + bias, row by row, without a separate pass for the bias.
///   x: (..., in)   weight: (in, out)   bias: (out)   returns (..., out)
/// Throws ShapeError for other shapes.
/// Elsewhere: `torch.addmm`, `F.linear`; weight is (in, out)
/// Example: `linear(x, random.normal({6, 3}), zeros({3}))`
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Place = Place::here());

/// a: (m)  b: (n)  returns a b^T, of shape (m, n). Throws ShapeError for other ranks.
/// Elsewhere: `torch.outer`
/// Example: `outer(arange(3), arange(4))`
Tensor outer(const Tensor& a, const Tensor& b, Place = Place::here());

namespace composite {
/// The definition, in primitive operations.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);
}  // namespace composite

}  // namespace tapegrad::TAPEGRAD_SCALAR
