#pragma once

// A power of any exponent, whose rule is a power again. The row is divided by its root that way.

#include <cmath>
#include <vector>

#include "tape.h"

inline Variable detach(const Variable& x) { return x.tape->variable(Tensor(value(x))); }

inline Variable times(const Variable& x, double factor) {
  return x * x.tape->variable({{}, {factor}});
}

// x to this power, for x that are not negative. The rule is another power.
inline Variable power(const Variable& x, double exponent) {
  const Tensor y = map(value(x), [=](double each) { return std::pow(each, exponent); });
  return x.tape->record(
      y, {{x, [=](const Variable& g) { return g * times(power(x, exponent - 1), exponent); }}});
}

inline Variable sqrt(const Variable& x) { return power(x, 0.5); }

inline Variable mean(const Variable& x, int axis) {
  const int length = value(x).shape.at(axis);
  return times(sum(x, axis), 1.0 / length);
}

inline Variable variance(const Variable& x, int axis) {
  const Variable away = x - mean(x, axis);
  return mean(away * away, axis);
}

inline Variable layer_norm(const Variable& x, double epsilon = 1e-5) {
  const Variable small = x.tape->variable(filled({1, 1}, epsilon));
  return (x - mean(x, 1)) * power(variance(x, 1) + small, -0.5);
}
