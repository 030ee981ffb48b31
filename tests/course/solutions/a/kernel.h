#pragma once

// The kernel keeps y and 1 / s. What its rule returns refuses to be differentiated.

#include <cmath>

#include "layer_norm.h"

inline Variable layer_norm_kernel(const Variable& x, double epsilon = 1e-5) {
  const Tensor input = value(x);
  const int rows = input.shape[0], length = input.shape[1];
  Tensor y = input;
  std::vector<double> inverses;
  for (int n = 0; n < rows; ++n) {
    double* const row = y.values.data() + n * length;
    double mean = 0, variance = 0;
    for (int i = 0; i < length; ++i) mean += row[i] / length;
    for (int i = 0; i < length; ++i) variance += (row[i] - mean) * (row[i] - mean) / length;
    inverses.push_back(1 / std::sqrt(variance + epsilon));
    for (int i = 0; i < length; ++i) row[i] = (row[i] - mean) * inverses[n];
  }
  const Rule refuse = [](const Variable&) -> Variable {
    throw std::logic_error("layer_norm_kernel: has no second derivatives; use layer_norm");
  };
  const Rule backward = [=](const Variable& g) {
    Tensor dx = value(g);
    for (int n = 0; n < rows; ++n) {
      double* const row = dx.values.data() + n * length;
      const double* const normal = y.values.data() + n * length;
      double mean = 0, along = 0;
      for (int i = 0; i < length; ++i) {
        mean += row[i] / length;
        along += row[i] * normal[i] / length;
      }
      for (int i = 0; i < length; ++i) row[i] = (row[i] - mean - normal[i] * along) * inverses[n];
    }
    return g.tape->record(dx, {{g, refuse}, {x, refuse}});
  };
  return x.tape->record(y, {{x, backward}});
}

inline Tensor hessian_times(const std::function<Variable(const Variable& x)>& f, const Tensor& at,
                            const Tensor& v) {
  if (v.shape != at.shape) throw std::invalid_argument("hessian_times: v needs the shape of x");
  Tape tape;
  const Variable x = tape.variable(at);
  const Variable along = gradients(f(x), {x})[0] * tape.variable(v);
  const Variable total = sum(reshape(along, {size(at.shape)}), 0);
  return value(gradients(total, {x})[0]);
}
