#pragma once

// All three are made of the logarithm of the sum of exponentials.

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "tape.h"

// The greatest number of each row: (N, 1).
inline Tensor row_maximum(const Tensor& x) {
  Tensor top{{x.shape.at(0), 1}, {}};
  const int length = x.shape.at(1);
  for (int begin = 0; begin < x.shape[0] * length; begin += length)
    top.values.push_back(*std::max_element(&x.values[begin], &x.values[begin] + length));
  return top;
}

// log(sum(exp(x))) of each row: (N, 1).
inline Variable log_sum_exp(const Variable& x) {
  const Variable top = x.tape->variable(row_maximum(value(x)));
  return top + log(sum(exp(x - top), 1));
}

inline Variable log_softmax(const Variable& x) { return x - log_sum_exp(x); }

inline Variable softmax(const Variable& x) {
  const Variable parts = exp(x - x.tape->variable(row_maximum(value(x))));
  return parts / sum(parts, 1);
}

inline Variable cross_entropy(const Variable& logits, const std::vector<int>& labels) {
  Tensor mask = filled(value(logits).shape, 0);
  const int rows = mask.shape.at(0), classes = mask.shape.at(1);
  if (static_cast<int>(labels.size()) != rows)
    throw std::invalid_argument("cross_entropy: one label for each row, please");
  for (int n = 0; n < rows; ++n) {
    if (labels[n] != std::clamp(labels[n], 0, classes - 1))
      throw std::invalid_argument("cross_entropy: a label out of range");
    mask.values[n * classes + labels[n]] = 1;
  }
  const Variable at_label = sum(logits * logits.tape->variable(mask), 1);
  return sum(log_sum_exp(logits) - at_label, 0) * logits.tape->variable({{}, {1.0 / rows}});
}
