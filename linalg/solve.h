#pragma once

#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

// Linear equations and what comes with them, for matrices in the last two axes; a batch of them may
// have any leading axes, and the leading axes of two operands broadcast. A right-hand side of one
// axis, (n), is a vector, and so is the solution. All have first and second derivatives (Giles
// 2008, "Collected matrix derivative results"). They throw ShapeError for shapes that do not fit,
// and ArgumentError for a NaN or an infinity in what is read of a matrix, naming the matrix of the
// batch.

/// x with a x = b.
///   a: (..., n, n)   b: (..., n, k)   returns (..., n, k)
/// Throws ArgumentError for a singular matrix.
/// Elsewhere: `torch.linalg.solve`; leading axes broadcast
/// Example: `solve(square, eye(3))`
Tensor solve(const Tensor& a, const Tensor& b, Place = Place::here());

struct TriangularOptions {
  bool upper = false;       ///< a has its values on and above the diagonal, otherwise below
  bool transposed = false;  ///< solves a^T x = b
};
/// x with a x = b for triangular matrices; of `a`, only the triangle is read.
///   a: (..., n, n)   b: (..., n, k)   returns (..., n, k)
/// Throws ArgumentError for a 0 on the diagonal.
/// Elsewhere: `torch.linalg.solve_triangular`; reads the triangle only
/// Example: `triangular_solve(square, eye(3), {.upper = true})`
Tensor triangular_solve(const Tensor& a, const Tensor& b, const TriangularOptions& options = {},
                        Place = Place::here());

/// The inverse. To apply it once, `solve` is more accurate and costs less.
///   a: (..., n, n)   returns (..., n, n)
/// Throws ArgumentError for a singular matrix.
/// Elsewhere: `torch.linalg.inv`
/// Example: `inverse(square)`
Tensor inverse(const Tensor& a, Place = Place::here());

/// The logarithm of the determinant; 0 for (..., 0, 0).
///   a: (..., n, n)   returns (...)
/// Throws ArgumentError for a determinant that is 0 or negative.
/// Elsewhere: `torch.logdet`; throws for a determinant of 0 or below
/// Example: `logdet(square)`
Tensor logdet(const Tensor& a, Place = Place::here());

/// x with the least |a x - b|, by the QR decomposition; for a matrix with more columns than rows,
/// of all x with a x = b the one with the least |x|.
///   a: (..., m, n)   b: (..., m, k)   returns (..., n, k)
/// Throws ArgumentError for a matrix without full rank, to the precision of the numbers.
/// Elsewhere: `torch.linalg.lstsq`; full rank only
/// Example: `lstsq(x, y)`
Tensor lstsq(const Tensor& a, const Tensor& b, Place = Place::here());

}  // namespace tapegrad::TAPEGRAD_SCALAR
