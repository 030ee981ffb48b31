#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tapegrad/core/tape.h"

namespace tapegrad::TAPEGRAD_SCALAR {

/// The axes before the two axes of the matrices.
Shape leading(const Shape& shape);
/// How many matrices a tensor of this shape holds.
Index matrix_count(const Shape& shape);

/// Throws ShapeError, naming `operation`, for an undefined tensor and for fewer than two axes.
void expect_matrices(const char* operation, const Tensor& a);
/// Throws the same errors, and ShapeError for matrices that are not square.
void expect_square(const char* operation, const Tensor& a);
/// Throws ArgumentError for a NaN or an infinity, naming its matrix.
void expect_finite(const char* operation, const Tensor& a);
/// Throws ArgumentError unless `failed` is -1: "OPERATION: WHAT: matrix (1, 0) of (2, 3, 4, 4)".
void expect_none_failed(const char* operation, const char* what, const Shape& shape, Index failed);
/// Throws ArgumentError unless the diagonal of each r (..., n, n) of a QR decomposition is larger
/// than its rounding errors; `shape` belongs to the decomposed matrix.
void expect_full_rank(const char* operation, const Tensor& r, const Shape& shape);

/// Stretches the leading axes of two operands to each other. Throws ShapeError if they do not fit.
std::pair<Tensor, Tensor> same_batch(const char* operation, const Tensor& a, const Tensor& b);

/// Several tensors with the same leading axes as one of shape (..., count), which a single rule can
/// differentiate, and back. The last axes of each, such as (m, n), are named by `shapes`.
Tensor pack(const std::vector<Tensor>& parts, const Shape& batch);
std::vector<Tensor> unpack(const Tensor& packed, const std::vector<Shape>& shapes);

}  // namespace tapegrad::TAPEGRAD_SCALAR
