#pragma once

// Stage 1: tensors and broadcasting. Fill in what throws; add what you need.

#include <functional>
#include <stdexcept>
#include <vector>

/// The length of each axis, at least 1: {2, 3} for 2 rows of 3 numbers, {3} for a vector of 3, and
/// {} for a single number.
using Shape = std::vector<int>;

/// Numbers in row-major order: of the indices of neighbors, the last one differs.
struct Tensor {
  Shape shape;
  std::vector<double> values;
};

/// How many numbers a tensor of this shape has: 6 for (2, 3), and 1 for ().
inline int size(const Shape& shape) {
  (void)shape;
  throw std::logic_error("size is not written yet");
}

/// A tensor that has the same value everywhere.
inline Tensor filled(const Shape& shape, double value) {
  (void)shape, (void)value;
  throw std::logic_error("filled is not written yet");
}

/// The shape of a + b. Axes are aligned at the end; a missing axis counts as 1; an axis of length 1
/// takes the length of the other. Throws std::invalid_argument if two lengths differ and neither
/// is 1.
inline Shape broadcast(const Shape& a, const Shape& b) {
  (void)a, (void)b;
  throw std::logic_error("broadcast is not written yet");
}

/// x repeated to fill the shape. Throws std::invalid_argument unless broadcasting x with this shape
/// gives just this shape.
inline Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  (void)x, (void)shape;
  throw std::logic_error("broadcast_to is not written yet");
}

/// Element by element, with broadcasting. Shapes that do not fit throw std::invalid_argument.
inline Tensor operator+(const Tensor&, const Tensor&) {
  throw std::logic_error("operator+ is not written yet");
}
inline Tensor operator-(const Tensor&, const Tensor&) {
  throw std::logic_error("operator- is not written yet");
}
inline Tensor operator*(const Tensor&, const Tensor&) {
  throw std::logic_error("operator* is not written yet");
}
inline Tensor operator/(const Tensor&, const Tensor&) {
  throw std::logic_error("operator/ is not written yet");
}

/// f of each element.
inline Tensor map(const Tensor& x, const std::function<double(double)>& f) {
  (void)x, (void)f;
  throw std::logic_error("map is not written yet");
}

/// The sum along an axis, which stays with length 1: from (2, 3), axis 0 gives (1, 3), and axis 1
/// (2, 1). Throws std::invalid_argument if there is no such axis.
inline Tensor sum(const Tensor& x, int axis) {
  (void)x, (void)axis;
  throw std::logic_error("sum is not written yet");
}

/// Gives the same numbers in the same order another shape. Throws std::invalid_argument unless both
/// shapes have the same size.
inline Tensor reshape(const Tensor& x, const Shape& shape) {
  (void)x, (void)shape;
  throw std::logic_error("reshape is not written yet");
}

/// Rows become columns. Throws std::invalid_argument unless x has two axes.
inline Tensor transpose(const Tensor& x) {
  (void)x;
  throw std::logic_error("transpose is not written yet");
}
