#pragma once

// Every tensor is built index by index. Indices advance as an odometer does.

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <vector>

using Shape = std::vector<int>;
using Index = std::vector<int>;

struct Tensor {
  Shape shape;
  std::vector<double> values;
};

inline int size(const Shape& shape) {
  int all = 1;
  for (const int length : shape) all *= length;
  return all;
}

inline Tensor filled(const Shape& shape, double value) {
  Tensor x{shape, {}};
  x.values.assign(size(shape), value);
  return x;
}

inline void advance(Index& index, const Shape& shape) {
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (++index[axis] < shape[axis]) return;
    index[axis] = 0;
  }
}

// Where an index of a longer and wider shape lies in this one.
inline int place(const Shape& shape, const Index& index) {
  const std::size_t missing = index.size() - shape.size();
  int at = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    at = at * shape[axis] + (shape[axis] == 1 ? 0 : index[missing + axis]);
  return at;
}

template <class F>
Tensor build(const Shape& shape, const F& f) {
  Tensor y = filled(shape, 0);
  Index index(shape.size(), 0);
  for (double& each : y.values) {
    each = f(index);
    advance(index, shape);
  }
  return y;
}

inline Shape broadcast(const Shape& a, const Shape& b) {
  if (a.size() < b.size()) return broadcast(b, a);
  Shape result = a;
  for (std::size_t i = 0; i < b.size(); ++i) {
    int& length = result[a.size() - 1 - i];
    const int other = b[b.size() - 1 - i];
    if (length == 1)
      length = other;
    else if (other != 1 && other != length)
      throw std::invalid_argument("lengths differ");
  }
  return result;
}

inline Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  if (broadcast(x.shape, shape) != shape) throw std::invalid_argument("does not stretch");
  return build(shape, [&](const Index& index) { return x.values[place(x.shape, index)]; });
}

template <class F>
Tensor together(const Tensor& a, const Tensor& b, const F& f) {
  return build(broadcast(a.shape, b.shape), [&](const Index& index) {
    return f(a.values[place(a.shape, index)], b.values[place(b.shape, index)]);
  });
}

inline Tensor operator+(const Tensor& a, const Tensor& b) {
  return together(a, b, [](double x, double y) { return x + y; });
}
inline Tensor operator-(const Tensor& a, const Tensor& b) {
  return together(a, b, [](double x, double y) { return x - y; });
}
inline Tensor operator*(const Tensor& a, const Tensor& b) {
  return together(a, b, [](double x, double y) { return x * y; });
}
inline Tensor operator/(const Tensor& a, const Tensor& b) {
  return together(a, b, [](double x, double y) { return x / y; });
}

inline Tensor map(const Tensor& x, const std::function<double(double)>& f) {
  Tensor y{x.shape, {}};
  std::transform(x.values.begin(), x.values.end(), std::back_inserter(y.values), f);
  return y;
}

inline Tensor sum(const Tensor& x, int axis) {
  if (axis < 0 || axis >= int(x.shape.size())) throw std::invalid_argument("no such axis");
  Shape shape = x.shape;
  shape[axis] = 1;
  Tensor y = filled(shape, 0);
  Index index(shape.size(), 0);
  for (const double each : x.values) {
    y.values[place(shape, index)] += each;
    advance(index, x.shape);
  }
  return y;
}

inline Tensor reshape(const Tensor& x, const Shape& shape) {
  if (x.values.size() != std::size_t(size(shape))) throw std::invalid_argument("another size");
  return {shape, x.values};
}

inline Tensor transpose(const Tensor& x) {
  if (x.shape.size() != 2) throw std::invalid_argument("not a matrix");
  return build({x.shape[1], x.shape[0]}, [&](const Index& index) {
    return x.values[place(x.shape, {index[1], index[0]})];
  });
}
