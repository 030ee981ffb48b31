#pragma once

// Every function is a composition of what the tape has, but sqrt.

#include "tape.h"

inline Variable detach(const Variable& x) {
  const Tensor copy = value(x);
  return x.tape->variable(copy);
}

inline Variable sqrt(const Variable& x) {
  const Tensor root = map(value(x), [](double each) { return std::sqrt(each); });
  return x.tape->record(
      root,
      {{x, [x](const Variable& g) { return g / (g.tape->variable(filled({}, 2)) * sqrt(x)); }}});
}

inline Variable mean(const Variable& x, int axis) {
  const Variable total = sum(x, axis);
  return total / x.tape->variable(filled({}, value(x).shape[axis]));
}

inline Variable layer_norm(const Variable& x, double epsilon = 1e-5) {
  const Variable centered = x - mean(x, 1), variance = mean(centered * centered, 1);
  return centered / sqrt(variance + x.tape->variable(filled({}, epsilon)));
}
