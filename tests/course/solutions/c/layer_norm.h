#pragma once

// The mean as a rule of its own, and the root's rule by its result.

#include <cmath>

#include "tape.h"

inline Variable detach(const Variable& x) {
  Tensor same = value(x);
  return x.tape->record(same, {});
}

inline Variable sqrt(const Variable& x) {
  Tensor root = value(x);
  for (double& each : root.values) each = std::sqrt(each);
  const Variable result{x.tape, x.tape->size()};
  return x.tape->record(root, {{x, [result](const Variable& g) { return g / (result + result); }}});
}

inline Variable mean(const Variable& x, int axis) {
  Tensor y = sum(value(x), axis);
  const int length = value(x).shape[axis];
  for (double& each : y.values) each /= length;
  const Tensor parts = filled(value(x).shape, 1.0 / length);
  return x.tape->record(y,
                        {{x, [parts](const Variable& g) { return g * g.tape->variable(parts); }}});
}

inline Variable layer_norm(const Variable& x, double epsilon = 1e-5) {
  const Variable away = x - mean(x, 1);
  const Variable floor = x.tape->variable(Tensor{{}, {epsilon}});
  const Variable deviation = sqrt(mean(away * away, 1) + floor);
  return away / deviation;
}
