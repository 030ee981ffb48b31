#pragma once

// Products of matrices; their rules are products again.

#include "tape.h"

inline Tensor matmul(const Tensor& a, const Tensor& b) {
  if (a.shape.size() != 2 || b.shape.size() != 2 || a.shape[1] != b.shape[0])
    throw std::invalid_argument("matmul: needs (m, k) and (k, n)");
  const int m = a.shape[0], k = a.shape[1], n = b.shape[1];
  Tensor c = filled({m, n}, 0);
  for (int i = 0; i < m; ++i)
    for (int l = 0; l < k; ++l)
      for (int j = 0; j < n; ++j) c.values[i * n + j] += a.values[i * k + l] * b.values[l * n + j];
  return c;
}

inline Variable transpose(const Variable& x) {
  return x.tape->record(transpose(value(x)), {{x, [](const Variable& g) { return transpose(g); }}});
}

inline Variable matmul(const Variable& a, const Variable& b) {
  return a.tape->record(matmul(value(a), value(b)),
                        {{a, [=](const Variable& g) { return matmul(g, transpose(b)); }},
                         {b, [=](const Variable& g) { return matmul(transpose(a), g); }}});
}
