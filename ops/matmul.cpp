#include "tapegrad/ops/matmul.h"

#include <vector>

#include "tapegrad/core/error.h"
#include "tapegrad/core/precision.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/kernels/product/gemm.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/reduce.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// The shape of a tensor and, for the leaf of a named parameter, that name.
std::string described(const Tensor& x) {
  const Tape* tape = Tape::active();
  const bool on_tape = tape != nullptr && tape->holds(x);
  const std::string name = on_tape ? tape->label(x.node()) : "";
  return name.empty() ? to_string(x.shape()) : to_string(x.shape()) + " of " + name;
}

void expect_product(const Tensor& a, const Tensor& b, Transposed t) {
  const bool ranks = a.rank() >= (t.a ? 2 : 1) && b.rank() >= (t.b ? 2 : 1);
  const int inner_a = t.a ? -2 : -1, inner_b = t.b || b.rank() == 1 ? -1 : -2;
  if (ranks && a.shape()[inner_a] == b.shape()[inner_b]) return;
  fail("matmul: {}: {}{} x {}{}",
       ranks ? "inner sizes differ" : "needs matrices, or vectors as they are", described(a),
       t.a ? " transposed" : "", described(b), t.b ? " transposed" : "");
}

Shape leading(const Shape& shape) {
  return Shape(std::span<const Index>(shape.begin(), shape.rank() - 2));
}

// For each matrix of the broadcast result, the offset of an operand's matrix.
std::vector<Index> matrix_offsets(const Shape& operand, const Shape& batch) {
  const Shape own = leading(operand);
  const Index matrix = operand[-1] * operand[-2];
  std::vector<Index> offsets(batch.size());
  for (Index i = 0; i < batch.size(); ++i) {
    Index rest = i, stride = matrix;
    for (int back = 1; back <= batch.rank(); ++back) {
      const Index position = rest % batch[-back];
      rest /= batch[-back];
      if (back > own.rank()) continue;
      if (own[-back] != 1) offsets[i] += position * stride;
      stride *= own[-back];
    }
  }
  return offsets;
}

Tensor product(const Tensor& a, const Tensor& b, Transposed t, Precision precision) {
  const Index m = a.shape()[t.a ? -1 : -2], k = a.shape()[t.a ? -2 : -1];
  const Index n = b.shape()[t.b ? -2 : -1];
  const Shape batch = broadcast("matmul", leading(a.shape()), leading(b.shape()));
  std::vector<Index> extents(batch.begin(), batch.end());
  extents.push_back(m);
  extents.push_back(n);
  Tensor c = Tensor::uninitialized(Shape(extents));
  real* out = c.mutable_data();
  const Index stride_a = a.shape()[-1], stride_b = b.shape()[-1];
  if (batch.size() == 1) {
    kernels::gemm(m, n, k, {a.data(), stride_a, t.a}, {b.data(), stride_b, t.b}, {}, out, n,
                  precision);
    return c;
  }
  const auto offsets_a = matrix_offsets(a.shape(), batch);
  const auto offsets_b = matrix_offsets(b.shape(), batch);
  kernels::gemm_batch(m, n, k, {a.data(), stride_a, t.a}, offsets_a, {b.data(), stride_b, t.b},
                      offsets_b, out, precision);
  return c;
}

// The product of two matrices, started from a row instead of zeros.
Tensor product_onto(const Tensor& a, const Tensor& b, const Tensor& row, Precision precision) {
  const Index m = a.shape()[0], k = a.shape()[1], n = b.shape()[1];
  Tensor c = Tensor::uninitialized({m, n});
  kernels::gemm(m, n, k, {a.data(), k}, {b.data(), n}, {row.data(), 0}, c.mutable_data(), n,
                precision);
  return c;
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, Transposed t, Place place) {
  const OperationScope scope("matmul", place, a, b);
  expect_product(a, b, t);
  if (a.rank() == 1 || b.rank() == 1) {
    if (a.rank() == 1) {
      const Tensor rows = matmul(reshape(a, {1, a.size()}), b, t);
      return reshape(rows, rows.shape().without(b.rank() == 1 ? -1 : -2));
    }
    const Tensor columns = matmul(a, reshape(b, {b.size(), 1}), t);
    return reshape(columns, columns.shape().without(-1));
  }
  if (a.rank() > 2 && b.rank() == 2 && !t.a) {  // one product over all rows
    const Tensor rows = reshape(a, Shape{a.shape().count(0, a.rank() - 1), a.shape()[-1]});
    return reshape(matmul(rows, b, t), a.shape().with(-1, b.shape()[t.b ? -2 : -1]));
  }
  const Precision precision = PrecisionScope::active();
  const auto to_a = [b, t, precision](const Tensor& g) {
    const PrecisionScope same(precision);
    return t.a ? matmul(b, g, {.a = t.b, .b = true}) : matmul(g, b, {.a = false, .b = !t.b});
  };
  const auto to_b = [a, t, precision](const Tensor& g) {
    const PrecisionScope same(precision);
    return t.b ? matmul(g, a, {.a = true, .b = t.a}) : matmul(a, g, {.a = !t.a, .b = false});
  };
  return record("matmul", product(a, b, t, precision), place, edge(a, to_a), edge(b, to_b));
}

Tensor composite::linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  return matmul(x, weight) + bias;
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Place place) {
  const OperationScope scope("linear", place, x, weight, bias);
  expect_product(x, weight, {});
  expect(weight.rank() == 2 && bias.shape() == Shape{weight.shape()[1]},
         "linear: needs a weight (in, out) and a bias (out): {} and {}", weight.shape(),
         bias.shape());
  if (Composite::active()) return composite::linear(x, weight, bias);
  if (x.rank() != 2) {  // one product over all rows
    const Tensor rows = reshape(x, {x.shape().count(0, x.rank() - 1), x.shape()[-1]});
    return reshape(linear(rows, weight, bias), x.shape().with(-1, weight.shape()[1]));
  }
  const Precision precision = PrecisionScope::active();
  const auto to_x = [weight, precision](const Tensor& g) {
    const PrecisionScope same(precision);
    return matmul(g, weight, {.b = true});
  };
  const auto to_weight = [x, precision](const Tensor& g) {
    const PrecisionScope same(precision);
    return matmul(x, g, {.a = true});
  };
  const auto to_bias = [](const Tensor& g) { return sum(g, 0); };
  return record("linear", product_onto(x, weight, bias, precision), place, edge(x, to_x),
                edge(weight, to_weight), edge(bias, to_bias));
}

Tensor outer(const Tensor& a, const Tensor& b, Place place) {
  const OperationScope scope("outer", place, a, b);
  expect(a.rank() == 1 && b.rank() == 1, "outer: needs two vectors: {} and {}", a.shape(),
         b.shape());
  return matmul(reshape(a, {a.size(), 1}), reshape(b, {1, b.size()}));
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
