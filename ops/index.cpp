#include "tapegrad/ops/index.h"

#include <algorithm>
#include <cstdlib>

#include "tapegrad/core/error.h"
#include "tapegrad/ops/kernels/index.h"
#include "tapegrad/ops/layout.h"

namespace tapegrad::TAPEGRAD_SCALAR {
namespace {

// Rows of a table.
class Rows final : public Part {
 public:
  explicit Rows(const Indices& ids) : ids_(ids) {}
  void add_to(Tensor& total, const Tensor& part) const override {
    kernels::scatter_add_rows(ids_.values(), total.shape().count(1, total.rank()), part.data(),
                              total.mutable_data());
  }
  Tensor extract(const Tensor& whole) const override { return embedding(whole, ids_); }

 private:
  Indices ids_;
};

// Elements at flat positions.
class Elements final : public Part {
 public:
  explicit Elements(const Indices& positions) : positions_(positions) {}
  void add_to(Tensor& total, const Tensor& part) const override {
    kernels::scatter_add(positions_.data(), positions_.shape(), part.data(), total.mutable_data());
  }
  Tensor extract(const Tensor& whole) const override { return take(whole, positions_); }

 private:
  Indices positions_;
};

// Turns positions along one axis into flat positions in a tensor of shape `whole`.
Indices flat_positions(const char* operation, const Indices& positions, int axis,
                       const Shape& whole) {
  const Shape& shape = positions.shape();
  expect(shape.rank() == whole.rank() && shape.with(axis, whole[axis]) == whole,
         "{}: positions {} and tensor {} differ beside axis {}", operation, shape, whole, axis);
  expect_below(operation, positions, whole[axis]);
  const Index inner = shape.count(axis + 1, shape.rank()), along = shape[axis];
  Indices flat = Indices::uninitialized(shape);
  for (Index i = 0; i < flat.size(); ++i) {
    const Index outer = i / (along * inner);
    flat.mutable_data()[i] = (outer * whole[axis] + positions.data()[i]) * inner + i % inner;
  }
  return flat;
}

// The flat positions of a diagonal of `length` elements in matrices of so many rows and columns.
Indices diagonal_positions(const Shape& matrices, Index length, Index offset) {
  const Index rows = matrices[-2], columns = matrices[-1];
  const Index count = matrices.count(0, matrices.rank() - 2);
  const Index below = std::max<Index>(-offset, 0), right = std::max<Index>(offset, 0);
  Indices positions = Indices::uninitialized(matrices.without(-1).with(-1, length));
  Index* next = positions.mutable_data();
  for (Index matrix = 0; matrix < count; ++matrix)
    for (Index i = 0; i < length; ++i) *next++ = (matrix * rows + below + i) * columns + right + i;
  return positions;
}

}  // namespace

Tensor embedding(const Tensor& table, const Indices& ids, Place place) {
  const OperationScope scope("embedding", place, table, ids);
  expect(table.rank() >= 1, "embedding: needs a table of rows: {}", table.shape());
  expect_below("embedding", ids, table.shape()[0]);
  const Index width = table.shape().count(1, table.rank());
  std::vector<Index> extents(ids.shape().begin(), ids.shape().end());
  extents.insert(extents.end(), table.shape().begin() + 1, table.shape().end());
  Tensor rows = Tensor::uninitialized(Shape(extents));
  kernels::take_rows(ids.values(), width, table.data(), rows.mutable_data());
  return record("embedding", rows, place, part_edge(table, std::make_shared<const Rows>(ids)));
}

Tensor take(const Tensor& x, const Indices& positions, Place place) {
  const OperationScope scope("take", place, x, positions);
  expect_below("take", positions, x.size());
  Tensor y = Tensor::uninitialized(positions.shape());
  kernels::take(positions.values(), x.data(), y.mutable_data());
  return record("take", y, place, part_edge(x, std::make_shared<const Elements>(positions)));
}

Tensor put(const Tensor& x, const Indices& positions, const Shape& shape, Place place) {
  const OperationScope scope("put", place, x, positions);
  expect(x.shape() == positions.shape(), "put: values {} and positions {} differ", x.shape(),
         positions.shape());
  expect_below("put", positions, shape.size());
  Tensor y = zeros(shape);
  Elements(positions).add_to(y, x);
  return record("put", y, place,
                edge(x, [positions](const Tensor& g) { return take(g, positions); }));
}

Tensor gather(const Tensor& x, int axis, const Indices& positions, Place place) {
  const OperationScope scope("gather", place, x, positions);
  return take(x, flat_positions("gather", positions, x.shape().resolve(axis), x.shape()), place);
}

Tensor scatter_add(const Tensor& x, int axis, const Indices& positions, const Shape& shape,
                   Place place) {
  const OperationScope scope("scatter_add", place, x, positions);
  return put(x, flat_positions("scatter_add", positions, shape.resolve(axis), shape), shape, place);
}

Tensor index_select(const Tensor& x, int axis, const Indices& positions, Place place) {
  const OperationScope scope("index_select", place, x, positions);
  axis = x.shape().resolve(axis);
  expect(positions.shape().rank() == 1, "index_select: positions must have one axis: {}",
         positions.shape());
  expect_below("index_select", positions, x.shape()[axis]);
  if (axis == 0) return embedding(x, positions);
  return transpose(embedding(transpose(x, 0, axis), positions), 0, axis);
}

Tensor pick(const Tensor& x, const Indices& labels, Place place) {
  const OperationScope scope("pick", place, x, labels);
  expect(x.rank() >= 1 && labels.shape() == x.shape().without(-1),
         "pick: labels {} do not name one element of each row of {}", labels.shape(), x.shape());
  const Indices columns = labels.reshape(labels.shape().insert(-1, 1));
  return reshape(gather(x, -1, columns), labels.shape());
}

Tensor one_hot(const Indices& labels, Index classes, Place place) {
  const OperationScope scope("one_hot", place, labels);
  expect_below("one_hot", labels, classes);
  Tensor y = zeros(labels.shape().insert(-1, classes));
  for (Index i = 0; i < labels.size(); ++i) y.mutable_data()[i * classes + labels.data()[i]] = 1;
  return y;
}

Tensor diagonal(const Tensor& x, Index offset, Place place) {
  const OperationScope scope("diagonal", place, x);
  expect(x.rank() >= 2, "diagonal: needs matrices: {}", x.shape());
  const Index below = std::max<Index>(-offset, 0), right = std::max<Index>(offset, 0);
  const Index length = std::max<Index>(0, std::min(x.shape()[-2] - below, x.shape()[-1] - right));
  return take(x, diagonal_positions(x.shape(), length, offset));
}

Tensor diag(const Tensor& x, Index offset, Place place) {
  const OperationScope scope("diag", place, x);
  expect(x.rank() >= 1, "diag: a scalar has no rows: {}", x.shape());
  const Index length = x.shape()[-1], extent = length + std::abs(offset);
  const Shape matrices = x.shape().with(-1, extent).insert(-1, extent);
  return put(x, diagonal_positions(matrices, length, offset), matrices);
}

}  // namespace tapegrad::TAPEGRAD_SCALAR
