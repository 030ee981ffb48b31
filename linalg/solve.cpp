#include "tapegrad/linalg/solve.h"

#include <algorithm>
#include <cmath>

#include "tapegrad/core/error.h"
#include "tapegrad/linalg/decompose.h"
#include "tapegrad/linalg/internal/batch.h"
#include "tapegrad/linalg/kernels/lapack.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// Checks that both operands fit, and calls f(a, b) with equal leading axes and with b as a matrix.
template <class F>
Tensor with_right_side(const char* operation, const Tensor& a, const Tensor& b, const F& f) {
  expect_matrices(operation, a);
  expect_defined(operation, a, b);
  const bool vector = b.rank() == 1;
  expect(b.rank() >= 1 && b.shape()[vector ? -1 : -2] == a.shape()[-2],
         "{}: needs a right-hand side (m) or (..., m, k) for a matrix (..., m, n): {} and {}",
         operation, a.shape(), b.shape());
  const auto [left, right] = same_batch(operation, a, vector ? reshape(b, {b.size(), 1}) : b);
  const Tensor x = f(left, right);
  return vector ? reshape(x, x.shape().without(-1)) : x;
}

Tensor square_solve(const Tensor& a, const Tensor& b, const Place& place) {
  const Index n = b.shape()[-2], k = b.shape()[-1];
  Tensor x = Tensor::uninitialized(b.shape());
  const Index failed =
      kernels::solve(matrix_count(a.shape()), n, k, a.data(), b.data(), x.mutable_data());
  expect_none_failed("solve", "singular", a.shape(), failed);
  const auto gradients = [a](const Tensor& g, const Tensor& y,
                             const Wanted<2>& wanted) -> Gradients<2> {
    const Tensor to_b = solve(transpose(a), g);
    return {wanted[0] ? -matmul(to_b, y, {.b = true}) : Tensor(), to_b};
  };
  return record("solve", x, place, joint_edge<2>({&a, &b}, gradients));
}

Tensor triangular(const Tensor& a, const Tensor& b, const TriangularOptions& options,
                  const Place& place) {
  const Index n = b.shape()[-2], k = b.shape()[-1];
  Tensor x(b.shape(), b.values());
  const Index failed =
      kernels::triangular_solve(matrix_count(a.shape()), n, k, {options.upper, options.transposed},
                                a.data(), x.mutable_data());
  expect_none_failed("triangular_solve", "a 0 on the diagonal", a.shape(), failed);
  const auto gradients = [a, options](const Tensor& g, const Tensor& y,
                                      const Wanted<2>& wanted) -> Gradients<2> {
    const Tensor to_b =
        triangular_solve(a, g, {.upper = options.upper, .transposed = !options.transposed});
    if (!wanted[0]) return {Tensor(), to_b};
    const Tensor whole =
        options.transposed ? -matmul(y, to_b, {.b = true}) : -matmul(to_b, y, {.b = true});
    return {options.upper ? triu(whole) : tril(whole), to_b};
  };
  return record("triangular_solve", x, place, joint_edge<2>({&a, &b}, gradients));
}

}  // namespace

Tensor solve(const Tensor& a, const Tensor& b, Place place) {
  const PlaceScope caller(place);
  expect_square("solve", a);
  expect_finite("solve", a);
  return with_right_side("solve", a, b, [&](const Tensor& left, const Tensor& right) {
    return square_solve(left, right, place);
  });
}

Tensor triangular_solve(const Tensor& a, const Tensor& b, const TriangularOptions& options,
                        Place place) {
  const PlaceScope caller(place);
  expect_square("triangular_solve", a);
  expect_finite("triangular_solve", options.upper ? triu(a) : tril(a));
  return with_right_side("triangular_solve", a, b, [&](const Tensor& left, const Tensor& right) {
    return triangular(left, right, options, place);
  });
}

Tensor inverse(const Tensor& a, Place place) {
  const PlaceScope caller(place);
  expect_square("inverse", a);
  expect_finite("inverse", a);
  const Index n = a.shape()[-1];
  const Tensor unit = broadcast_to(eye(n), a.shape());
  Tensor value = Tensor::uninitialized(a.shape());
  const Index failed =
      kernels::solve(matrix_count(a.shape()), n, n, a.data(), unit.data(), value.mutable_data());
  expect_none_failed("inverse", "singular", a.shape(), failed);
  return record("inverse", value, place, edge(a, [](const Tensor& g, const Tensor& y) {
                  return -matmul(matmul(y, g, {.a = true}), y, {.b = true});
                }));
}

Tensor logdet(const Tensor& a, Place place) {
  const PlaceScope caller(place);
  expect_square("logdet", a);
  expect_finite("logdet", a);
  const Shape batch = leading(a.shape());
  Tensor sign = Tensor::uninitialized(batch), value = Tensor::uninitialized(batch);
  kernels::determinant(batch.size(), a.shape()[-1], a.data(), sign.mutable_data(),
                       value.mutable_data());
  for (Index i = 0; i < batch.size(); ++i) {
    if (std::isinf(value.data()[i])) expect_none_failed("logdet", "singular", a.shape(), i);
    if (sign.data()[i] < 0)
      expect_none_failed("logdet", "the determinant is negative", a.shape(), i);
  }
  return record("logdet", value, place, edge(a, [a](const Tensor& g) {
                  const Shape scalars = g.shape().insert(g.rank(), 1);
                  return reshape(g, scalars.insert(g.rank(), 1)) * transpose(inverse(a));
                }));
}

Tensor lstsq(const Tensor& a, const Tensor& b, Place place) {
  const PlaceScope caller(place);
  expect_matrices("lstsq", a);
  expect_finite("lstsq", a);
  return with_right_side("lstsq", a, b, [&](const Tensor& left, const Tensor& right) {
    const bool tall = a.shape()[-2] >= a.shape()[-1];
    const auto [q, r] = qr(tall ? left : transpose(left), place);
    expect_full_rank("lstsq", r, left.shape());
    if (tall) return triangular_solve(r, matmul(q, right, {.a = true}), {.upper = true}, place);
    return matmul(q, triangular_solve(r, right, {.upper = true, .transposed = true}, place));
  });
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
