#include "tapegrad/linalg/internal/batch.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tapegrad/core/error.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// "(3, 3)" for a single matrix, otherwise "matrix (1, 0) of (2, 3, 4, 4)".
std::string described(const Shape& shape, Index matrix) {
  const Shape batch = leading(shape);
  if (batch.rank() == 0) return to_string(shape);
  std::vector<Index> position(static_cast<std::size_t>(batch.rank()));
  for (int axis = batch.rank() - 1; axis >= 0; --axis) {
    position[static_cast<std::size_t>(axis)] = matrix % batch[axis];
    matrix /= batch[axis];
  }
  return fmt::format("matrix {} of {}", to_string(Shape(position)), to_string(shape));
}

Shape joined(const Shape& batch, const Shape& last) {
  std::vector<Index> extents(batch.begin(), batch.end());
  extents.insert(extents.end(), last.begin(), last.end());
  return Shape(extents);
}

}  // namespace

Shape leading(const Shape& shape) {
  return Shape(std::span<const Index>(shape.begin(), shape.rank() - 2));
}

Index matrix_count(const Shape& shape) { return shape.count(0, shape.rank() - 2); }

void expect_matrices(const char* operation, const Tensor& a) {
  expect_defined(operation, a);
  expect(a.rank() >= 2, "{}: needs matrices (..., m, n): {}", operation, a.shape());
}

void expect_square(const char* operation, const Tensor& a) {
  expect_matrices(operation, a);
  expect(a.shape()[-1] == a.shape()[-2], "{}: needs square matrices (..., n, n): {}", operation,
         a.shape());
}

void expect_finite(const char* operation, const Tensor& a) {
  const std::span<const real> values = a.values();
  const auto found =
      std::find_if(values.begin(), values.end(), [](real x) { return !std::isfinite(x); });
  if (found == values.end()) return;
  const Index matrix = (found - values.begin()) / (a.shape()[-1] * a.shape()[-2]);
  expect_none_failed(operation, "a NaN or an infinity in the matrix", a.shape(), matrix);
}

void expect_none_failed(const char* operation, const char* what, const Shape& shape, Index failed) {
  expect<ArgumentError>(failed < 0, "{}: {}: {}", operation, what,
                        failed < 0 ? "" : described(shape, failed));
}

void expect_full_rank(const char* operation, const Tensor& r, const Shape& shape) {
  const Index n = r.shape()[-1];
  const real precision =
      static_cast<real>(std::max(shape[-1], shape[-2])) * std::numeric_limits<real>::epsilon();
  for (Index matrix = 0; matrix < matrix_count(r.shape()); ++matrix) {
    real least = std::numeric_limits<real>::infinity(), greatest = 0;
    for (Index i = 0; i < n; ++i) {
      const real element = r.data()[(matrix * n + i) * n + i];
      least = std::min(least, element), greatest = std::max(greatest, element);
    }
    if (least <= precision * greatest)
      expect_none_failed(operation, "the matrix lacks full rank", shape, matrix);
  }
}

std::pair<Tensor, Tensor> same_batch(const char* operation, const Tensor& a, const Tensor& b) {
  const Shape batch = broadcast(operation, leading(a.shape()), leading(b.shape()));
  const auto stretched = [&](const Tensor& x) {
    if (leading(x.shape()) == batch) return x;
    return broadcast_to(x, joined(batch, Shape{x.shape()[-2], x.shape()[-1]}));
  };
  return {stretched(a), stretched(b)};
}

Tensor pack(const std::vector<Tensor>& parts, const Shape& batch) {
  std::vector<Tensor> flat;
  for (const Tensor& part : parts)
    flat.push_back(
        reshape(part, joined(batch, Shape{part.shape().count(batch.rank(), part.rank())})));
  return concat(flat, -1);
}

std::vector<Tensor> unpack(const Tensor& packed, const std::vector<Shape>& shapes) {
  std::vector<Index> sizes;
  for (const Shape& shape : shapes) sizes.push_back(shape.size());
  std::vector<Tensor> parts = split(packed, sizes, -1);
  const Shape batch = packed.shape().without(-1);
  for (std::size_t i = 0; i < parts.size(); ++i)
    parts[i] = reshape(parts[i], joined(batch, shapes[i]));
  return parts;
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
