#pragma once

// One product for all four ways to transpose; transposed matrices are only read in another order.

#include "tape.h"

struct Operand {
  const Tensor& matrix;
  bool transposed;
  int length(int axis) const { return matrix.shape[transposed ? 1 - axis : axis]; }
  double at(int row, int column) const {
    return matrix
        .values[transposed ? column * matrix.shape[1] + row : row * matrix.shape[1] + column];
  }
};

inline Tensor product(const Operand& a, const Operand& b) {
  if (a.matrix.shape.size() != 2 || b.matrix.shape.size() != 2)
    throw std::invalid_argument("matmul: not matrices");
  if (a.length(1) != b.length(0)) throw std::invalid_argument("matmul: lengths differ");
  Tensor c{{a.length(0), b.length(1)}, {}};
  for (int i = 0; i < a.length(0); ++i)
    for (int j = 0; j < b.length(1); ++j) {
      double dot = 0;
      for (int l = 0; l < a.length(1); ++l) dot += a.at(i, l) * b.at(l, j);
      c.values.push_back(dot);
    }
  return c;
}

inline Tensor matmul(const Tensor& a, const Tensor& b) { return product({a, false}, {b, false}); }

// With A for a or its transpose, and B alike: dA = g B', dB = A' g. If it is a that is wanted and A
// is its transpose, it is da = dA' = B g'.
inline Variable product(const Variable& a, bool flip_a, const Variable& b, bool flip_b) {
  const Rule by_a = [=](const Variable& g) {
    return flip_a ? product(b, flip_b, g, true) : product(g, false, b, !flip_b);
  };
  const Rule by_b = [=](const Variable& g) {
    return flip_b ? product(g, true, a, flip_a) : product(a, !flip_a, g, false);
  };
  return a.tape->record(product({value(a), flip_a}, {value(b), flip_b}), {{a, by_a}, {b, by_b}});
}

inline Variable transpose(const Variable& x) {
  return x.tape->record(transpose(value(x)), {{x, [](const Variable& g) { return transpose(g); }}});
}

inline Variable matmul(const Variable& a, const Variable& b) { return product(a, false, b, false); }
