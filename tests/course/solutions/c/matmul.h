#pragma once

// A product of matrices is a sum of outer products, which broadcasting already knows: a (m, k, 1)
// times b (1, k, n), summed over k. Its rules follow the operations'.

#include "tape.h"

template <class Matrix>
Matrix sum_of_outer_products(const Matrix& a, const Shape& of_a, const Matrix& b,
                             const Shape& of_b) {
  if (of_a.size() != 2 || of_b.size() != 2 || of_a[1] != of_b[0])
    throw std::invalid_argument("matmul: the matrices do not fit");
  const int m = of_a[0], k = of_a[1], n = of_b[1];
  return reshape(sum(reshape(a, {m, k, 1}) * reshape(b, {1, k, n}), 1), {m, n});
}

inline Tensor matmul(const Tensor& a, const Tensor& b) {
  return sum_of_outer_products(a, a.shape, b, b.shape);
}
inline Variable matmul(const Variable& a, const Variable& b) {
  return sum_of_outer_products(a, value(a).shape, b, value(b).shape);
}

inline Variable transpose(const Variable& x) {
  const Rule back = [](const Variable& g) { return transpose(g); };
  return x.tape->record(transpose(value(x)), {{x, back}});
}
