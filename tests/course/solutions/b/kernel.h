#pragma once

// The kernel keeps nothing; its rule can be differentiated, by the definition in operations.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "layer_norm.h"

struct RowNorm {
  double mean, deviation;
};

inline RowNorm measure_row(const double* row, int length, double epsilon) {
  const double mean = std::accumulate(row, row + length, 0.0) / length;
  double squares = 0;
  for (const double* at = row; at != row + length; ++at) squares += (*at - mean) * (*at - mean);
  return {mean, std::sqrt(squares / length + epsilon)};
}

inline Variable all_of(const Variable& x) { return sum(sum(x, 0), 1); }

// The gradient by x, if that by layer_norm(x) is g.
inline Variable layer_norm_backward(const Variable& x, const Variable& g, double epsilon) {
  const Tensor in = value(x);
  Tensor out = value(g);
  const int length = in.shape[1];
  for (int first = 0; first < size(in.shape); first += length) {
    const auto [mean, deviation] = measure_row(&in.values[first], length, epsilon);
    double mean_g = 0, mean_gy = 0;
    for (int i = first; i < first + length; ++i) {
      mean_g += out.values[i];
      mean_gy += out.values[i] * (in.values[i] - mean) / deviation;
    }
    mean_g /= length, mean_gy /= length;
    for (int i = first; i < first + length; ++i) {
      const double y = (in.values[i] - mean) / deviation;
      out.values[i] = (out.values[i] - mean_g - y * mean_gy) / deviation;
    }
  }
  // The Jacobian is symmetric: what maps g maps the gradient by the result, too.
  const Rule by_g = [=](const Variable& u) { return layer_norm_backward(x, u, epsilon); };
  const Rule by_x = [=](const Variable& u) {
    const Variable once = gradients(all_of(layer_norm(x, epsilon) * g), {x})[0];
    return gradients(all_of(once * u), {x})[0];
  };
  return x.tape->record(out, {{g, by_g}, {x, by_x}});
}

inline Variable layer_norm_kernel(const Variable& x, double epsilon = 1e-5) {
  Tensor y = value(x);
  const int length = y.shape[1];
  for (int n = 0; n < y.shape[0]; ++n) {
    double* row = &y.values[n * length];
    const RowNorm norm = measure_row(row, length, epsilon);
    std::for_each(row, row + length, [&](double& v) { v = (v - norm.mean) / norm.deviation; });
  }
  return x.tape->record(
      y, {{x, [=](const Variable& g) { return layer_norm_backward(x, g, epsilon); }}});
}

inline Tensor hessian_times(const std::function<Variable(const Variable& x)>& f, const Tensor& at,
                            const Tensor& v) {
  if (at.shape != v.shape) throw std::invalid_argument("hessian_times: two shapes");
  Tape tape;
  const Variable x = tape.variable(at);
  Variable dot = gradients(f(x), {x}).front() * tape.variable(v);
  for (int axis = 0; axis < int(at.shape.size()); ++axis) dot = sum(dot, axis);
  return value(gradients(dot, {x}).front());
}
