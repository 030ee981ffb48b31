#pragma once

// Each row minus its greatest logit, which is a constant: the result does not depend on it.

#include <algorithm>

#include "tape.h"

inline Variable log_softmax(const Variable& x) {
  const Tensor logits = value(x);
  const int rows = logits.shape.at(0), classes = logits.shape.at(1);
  Tensor greatest = filled({rows, 1}, 0);
  for (int n = 0; n < rows; ++n) {
    const auto row = logits.values.begin() + n * classes;
    greatest.values[n] = *std::max_element(row, row + classes);
  }
  const Variable shifted = x - x.tape->variable(greatest);
  return shifted - log(sum(exp(shifted), 1));
}

inline Variable softmax(const Variable& x) { return exp(log_softmax(x)); }

inline Variable cross_entropy(const Variable& logits, const std::vector<int>& labels) {
  const Shape shape = value(logits).shape;
  const int rows = shape.at(0), classes = shape.at(1);
  if (static_cast<int>(labels.size()) != rows)
    throw std::invalid_argument("cross_entropy: needs a label for each row");
  Tensor weights = filled(shape, 0);
  for (int n = 0; n < rows; ++n) {
    if (labels[n] < 0 || labels[n] >= classes)
      throw std::invalid_argument("cross_entropy: there is no such class");
    weights.values[n * classes + labels[n]] = -1.0 / rows;
  }
  return sum(sum(log_softmax(logits) * logits.tape->variable(weights), 1), 0);
}
