#pragma once

// One axis at a time: around an axis, a tensor is blocks of `length` runs of `run` numbers.

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <vector>

using Shape = std::vector<int>;

struct Tensor {
  Shape shape;
  std::vector<double> values;
};

inline int size(const Shape& shape) {
  return shape.empty() ? 1 : shape.back() * size(Shape(shape.begin(), shape.end() - 1));
}

inline Tensor filled(const Shape& shape, double value) {
  return Tensor{shape, std::vector<double>(size(shape), value)};
}

inline Shape padded(Shape shape, std::size_t rank) {
  if (shape.size() < rank) shape.insert(shape.begin(), rank - shape.size(), 1);
  return shape;
}

inline Shape broadcast(const Shape& a, const Shape& b) {
  const std::size_t rank = std::max(a.size(), b.size());
  Shape long_a = padded(a, rank), long_b = padded(b, rank), both;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const auto [least, most] = std::minmax(long_a[axis], long_b[axis]);
    if (least != most && least != 1) throw std::invalid_argument("broadcast: no common shape");
    both.push_back(most);
  }
  return both;
}

// How many numbers lie between neighbors along an axis.
inline int run(const Shape& shape, int axis) {
  return size(Shape(shape.begin() + axis + 1, shape.end()));
}

// An axis of length 1, repeated.
inline Tensor repeat(const Tensor& x, int axis, int times) {
  Tensor y{x.shape, {}};
  y.shape[axis] = times;
  const int step = run(x.shape, axis);
  for (auto at = x.values.begin(); at != x.values.end(); at += step)
    for (int i = 0; i < times; ++i) y.values.insert(y.values.end(), at, at + step);
  return y;
}

inline Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  if (broadcast(x.shape, shape) != shape) throw std::invalid_argument("broadcast_to: too narrow");
  Tensor y{padded(x.shape, shape.size()), x.values};
  for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis)
    if (y.shape[axis] != shape[axis]) y = repeat(y, axis, shape[axis]);
  return y;
}

inline Tensor elementwise(Tensor a, Tensor b, double (*f)(double, double)) {
  if (a.shape != b.shape) {
    const Shape shape = broadcast(a.shape, b.shape);
    a = broadcast_to(a, shape);
    b = broadcast_to(b, shape);
  }
  std::transform(a.values.begin(), a.values.end(), b.values.begin(), a.values.begin(), f);
  return a;
}

inline Tensor operator+(const Tensor& a, const Tensor& b) {
  return elementwise(a, b, [](double x, double y) { return x + y; });
}
inline Tensor operator-(const Tensor& a, const Tensor& b) {
  return elementwise(a, b, [](double x, double y) { return x - y; });
}
inline Tensor operator*(const Tensor& a, const Tensor& b) {
  return elementwise(a, b, [](double x, double y) { return x * y; });
}
inline Tensor operator/(const Tensor& a, const Tensor& b) {
  return elementwise(a, b, [](double x, double y) { return x / y; });
}

inline Tensor map(Tensor x, const std::function<double(double)>& f) {
  std::transform(x.values.begin(), x.values.end(), x.values.begin(), f);
  return x;
}

inline Tensor sum(const Tensor& x, int axis) {
  if (axis < 0 || axis >= static_cast<int>(x.shape.size()))
    throw std::invalid_argument("sum: no axis " + std::to_string(axis));
  const int step = run(x.shape, axis), block = step * x.shape[axis];
  Shape shape = x.shape;
  shape[axis] = 1;
  Tensor y = filled(shape, 0);
  for (int i = 0; i < static_cast<int>(x.values.size()); ++i)
    y.values[i / block * step + i % step] += x.values[i];
  return y;
}

inline Tensor reshape(Tensor x, const Shape& shape) {
  if (size(x.shape) != size(shape)) throw std::invalid_argument("reshape: not as many numbers");
  x.shape = shape;
  return x;
}

inline Tensor transpose(const Tensor& x) {
  if (x.shape.size() != 2) throw std::invalid_argument("transpose: no matrix");
  const int rows = x.shape[0], columns = x.shape[1];
  Tensor y{{columns, rows}, {}};
  for (int i = 0; i < size(x.shape); ++i)
    y.values.push_back(x.values[i % rows * columns + i / rows]);
  return y;
}
