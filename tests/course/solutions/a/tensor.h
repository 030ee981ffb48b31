#pragma once

// Values in row-major order, and strides of 0 along stretched axes.

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <vector>

using Shape = std::vector<int>;

struct Tensor {
  Shape shape;
  std::vector<double> values;
};

inline int size(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), 1, std::multiplies<int>());
}

inline Tensor filled(const Shape& shape, double value) {
  return {shape, std::vector<double>(static_cast<std::size_t>(size(shape)), value)};
}

inline Shape broadcast(const Shape& a, const Shape& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  const auto length = [&](const Shape& shape, std::size_t axis) {
    const std::size_t missing = rank - shape.size();
    return axis < missing ? 1 : shape[axis - missing];
  };
  Shape result(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const int of_a = length(a, axis), of_b = length(b, axis);
    if (of_a != of_b && of_a != 1 && of_b != 1)
      throw std::invalid_argument("broadcast: the shapes do not fit");
    result[axis] = of_a == 1 ? of_b : of_a;
  }
  return result;
}

inline Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  if (broadcast(x.shape, shape) != shape)
    throw std::invalid_argument("broadcast_to: the tensor does not stretch to this shape");
  std::vector<int> strides(shape.size(), 0);
  int stride = 1;
  for (std::size_t i = 1; i <= x.shape.size(); ++i) {
    const int length = x.shape[x.shape.size() - i];
    strides[shape.size() - i] = length == 1 ? 0 : stride;
    stride *= length;
  }
  Tensor y = filled(shape, 0);
  for (int to = 0; to < size(shape); ++to) {
    int rest = to, from = 0;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      from += rest % shape[axis] * strides[axis];
      rest /= shape[axis];
    }
    y.values[to] = x.values[from];
  }
  return y;
}

template <class F>
Tensor combine(const Tensor& a, const Tensor& b, const F& f) {
  const Shape shape = broadcast(a.shape, b.shape);
  Tensor x = broadcast_to(a, shape);
  const Tensor y = broadcast_to(b, shape);
  for (std::size_t i = 0; i < x.values.size(); ++i) x.values[i] = f(x.values[i], y.values[i]);
  return x;
}

inline Tensor operator+(const Tensor& a, const Tensor& b) { return combine(a, b, std::plus<>()); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return combine(a, b, std::minus<>()); }
inline Tensor operator*(const Tensor& a, const Tensor& b) {
  return combine(a, b, std::multiplies<>());
}
inline Tensor operator/(const Tensor& a, const Tensor& b) {
  return combine(a, b, std::divides<>());
}

inline Tensor map(const Tensor& x, const std::function<double(double)>& f) {
  Tensor y = x;
  for (double& each : y.values) each = f(each);
  return y;
}

inline Tensor sum(const Tensor& x, int axis) {
  if (axis < 0 || axis >= static_cast<int>(x.shape.size()))
    throw std::invalid_argument("sum: there is no such axis");
  const Shape outer(x.shape.begin(), x.shape.begin() + axis),
      inner(x.shape.begin() + axis + 1, x.shape.end());
  Shape shape = x.shape;
  shape[axis] = 1;
  Tensor y = filled(shape, 0);
  const int length = x.shape[axis], columns = size(inner);
  for (int i = 0; i < size(outer); ++i)
    for (int k = 0; k < length; ++k)
      for (int j = 0; j < columns; ++j)
        y.values[i * columns + j] += x.values[(i * length + k) * columns + j];
  return y;
}

inline Tensor reshape(const Tensor& x, const Shape& shape) {
  if (size(shape) != size(x.shape))
    throw std::invalid_argument("reshape: the shapes have different numbers of elements");
  return {shape, x.values};
}

inline Tensor transpose(const Tensor& x) {
  if (x.shape.size() != 2) throw std::invalid_argument("transpose: needs a matrix");
  const int rows = x.shape[0], columns = x.shape[1];
  Tensor y = filled({columns, rows}, 0);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) y.values[j * rows + i] = x.values[i * columns + j];
  return y;
}
