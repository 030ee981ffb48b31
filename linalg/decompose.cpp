#include "tapegrad/linalg/decompose.h"

#include <algorithm>

#include "tapegrad/linalg/internal/batch.h"
#include "tapegrad/linalg/kernels/lapack.h"
#include "tapegrad/linalg/solve.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

Tensor symmetric_part(const Tensor& a) { return (a + transpose(a)) * 0.5; }

// x a^-1 or x a^-T for a triangular a.
Tensor divided_by(const Tensor& x, const Tensor& a, TriangularOptions options) {
  options.transposed = !options.transposed;
  return transpose(triangular_solve(a, transpose(x), options));
}

// (..., n) as a row or a column that broadcasts to matrices.
Tensor as_row(const Tensor& x) { return reshape(x, x.shape().insert(x.rank() - 1, 1)); }
Tensor as_column(const Tensor& x) { return reshape(x, x.shape().insert(x.rank(), 1)); }

// x_j - x_i in row i and column j, and 1 instead of 0 on the diagonal.
Tensor gaps(const Tensor& x) { return as_row(x) - as_column(x) + eye(x.shape()[-1]); }

Tensor cholesky_gradient(const Tensor& g, const Tensor& l) {
  const Tensor product = tril(matmul(l, g, {.a = true}));
  const Tensor half = product - 0.5 * diag(diagonal(product));
  return divided_by(triangular_solve(l, half, {.transposed = true}), l, {});
}

Tensor qr_gradient(const Tensor& gq, const Tensor& gr, const Tensor& q, const Tensor& r) {
  const Tensor product = matmul(gr, r, {.b = true}) - matmul(q, gq, {.a = true});
  const Tensor symmetric = triu(product) + transpose(triu(product, 1));
  return divided_by(gq + matmul(q, symmetric), r, {.upper = true, .transposed = true});
}

Tensor eigh_gradient(const Tensor& gw, const Tensor& gv, const Tensor& w, const Tensor& v) {
  const Tensor turning = matmul(v, gv, {.a = true}) * (1 - eye(w.shape()[-1])) / gaps(w);
  return matmul(matmul(v, turning + diag(gw)), v, {.b = true});
}

Tensor svd_gradient(const Svd& g, const Svd& y) {
  const auto skew = [](const Tensor& x) { return x - transpose(x); };
  const Tensor row = as_row(y.s), column = as_column(y.s);
  const Tensor differences = gaps(square(y.s));
  const Tensor inner = skew(matmul(y.u, g.u, {.a = true})) / differences * row +
                       column * skew(matmul(y.vt, g.vt, {.b = true})) / differences + diag(g.s);
  Tensor result = matmul(matmul(y.u, inner), y.vt);
  const Index m = y.u.shape()[-2], n = y.vt.shape()[-1], k = y.s.shape()[-1];
  if (m > k) {  // the part of u's gradient outside the span of u
    const Tensor outside = g.u - matmul(y.u, matmul(y.u, g.u, {.a = true}));
    result += matmul(outside / row, y.vt);
  }
  if (n > k) {
    const Tensor outside = g.vt - matmul(matmul(g.vt, y.vt, {.b = true}), y.vt);
    result += matmul(y.u, outside / column);
  }
  return result;
}

// m >= n
Qr tall_qr(const Tensor& a, const Place& place) {
  const Index m = a.shape()[-2], n = a.shape()[-1];
  Tensor q = Tensor::uninitialized(a.shape());
  Tensor r = Tensor::uninitialized(a.shape().with(-2, n));
  kernels::qr(matrix_count(a.shape()), m, n, a.data(), q.mutable_data(), r.mutable_data());
  const std::vector<Shape> shapes{{m, n}, {n, n}};
  const Tensor packed =
      record("qr", pack({q, r}, leading(a.shape())), place,
             edge(a, [shapes, shape = a.shape()](const Tensor& g, const Tensor& y) {
               const auto gradients = unpack(g, shapes), parts = unpack(y, shapes);
               expect_full_rank("qr", parts[1], shape);
               return qr_gradient(gradients[0], gradients[1], parts[0], parts[1]);
             }));
  const std::vector<Tensor> parts = unpack(packed, shapes);
  return {parts[0], parts[1]};
}

}  // namespace

Tensor cholesky(const Tensor& a, Place place) {
  const PlaceScope caller(place);
  expect_square("cholesky", a);
  expect_finite("cholesky", a);
  const Tensor symmetric = symmetric_part(a);
  Tensor l(symmetric.shape(), symmetric.values());
  const Index failed = kernels::cholesky(matrix_count(a.shape()), a.shape()[-1], l.mutable_data());
  expect_none_failed("cholesky", "not positive definite", a.shape(), failed);
  return record("cholesky", l, place, edge(symmetric, cholesky_gradient));
}

Qr qr(const Tensor& a, Place place) {
  const PlaceScope caller(place);
  expect_matrices("qr", a);
  expect_finite("qr", a);
  const Index m = a.shape()[-2], n = a.shape()[-1];
  if (m >= n) return tall_qr(a, place);
  const auto [q, r] = tall_qr(slice(a, -1, 0, m), place);
  return {q, concat({r, matmul(q, slice(a, -1, m, n), {.a = true})}, -1)};
}

Eigh eigh(const Tensor& a, Place place) {
  const PlaceScope caller(place);
  expect_square("eigh", a);
  expect_finite("eigh", a);
  const Index n = a.shape()[-1];
  const Tensor symmetric = symmetric_part(a);
  Tensor w = Tensor::uninitialized(a.shape().without(-1)), v = Tensor::uninitialized(a.shape());
  const Index failed = kernels::eigh(matrix_count(a.shape()), n, symmetric.data(), w.mutable_data(),
                                     v.mutable_data());
  expect_none_failed("eigh", "the iteration does not converge", a.shape(), failed);
  const std::vector<Shape> shapes{{n}, {n, n}};
  const Tensor packed =
      record("eigh", pack({w, v}, leading(a.shape())), place,
             edge(symmetric, [shapes](const Tensor& g, const Tensor& y) {
               const auto gradients = unpack(g, shapes), parts = unpack(y, shapes);
               return eigh_gradient(gradients[0], gradients[1], parts[0], parts[1]);
             }));
  const Tensor vectors = unpack(packed, shapes)[1];
  // A node of its own, whose gradient divides by no gap between eigenvalues.
  const auto to_symmetric = [vectors](const Tensor& g) {
    return matmul(vectors * as_row(g), vectors, {.b = true});
  };
  return {record("eigh values", w, place, edge(symmetric, to_symmetric)), vectors};
}

Svd svd(const Tensor& a, Place place) {
  const PlaceScope caller(place);
  expect_matrices("svd", a);
  expect_finite("svd", a);
  const Index m = a.shape()[-2], n = a.shape()[-1], k = std::min(m, n);
  Tensor u = Tensor::uninitialized(a.shape().with(-1, k));
  Tensor s = Tensor::uninitialized(a.shape().without(-1).with(-1, k));
  Tensor vt = Tensor::uninitialized(a.shape().with(-2, k));
  const Index failed = kernels::svd(matrix_count(a.shape()), m, n, a.data(), u.mutable_data(),
                                    s.mutable_data(), vt.mutable_data());
  expect_none_failed("svd", "the iteration does not converge", a.shape(), failed);
  const auto parts = [shapes = std::vector<Shape>{{m, k}, {k}, {k, n}}](const Tensor& packed) {
    const std::vector<Tensor> each = unpack(packed, shapes);
    return Svd{each[0], each[1], each[2]};
  };
  const Tensor packed = record("svd", pack({u, s, vt}, leading(a.shape())), place,
                               edge(a, [parts](const Tensor& g, const Tensor& y) {
                                 return svd_gradient(parts(g), parts(y));
                               }));
  const Svd recorded = parts(packed);
  // A node of its own, whose gradient divides by no gap between singular values.
  const auto to_a = [u = recorded.u, vt = recorded.vt](const Tensor& g) {
    return matmul(u * as_row(g), vt);
  };
  return {recorded.u, record("svd values", s, place, edge(a, to_a)), recorded.vt};
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
