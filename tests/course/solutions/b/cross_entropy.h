#pragma once

// log_softmax as one node: the value in plain loops, the rule in variables.

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "tape.h"

inline Variable softmax(const Variable& x);

inline Variable log_softmax(const Variable& x) {
  Tensor y = value(x);
  if (y.shape.size() != 2) throw std::invalid_argument("log_softmax: needs a matrix");
  const int classes = y.shape[1];
  for (auto row = y.values.begin(); row != y.values.end(); row += classes) {
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int c = 0; c < classes; ++c) top = std::fmax(top, row[c]);
    for (int c = 0; c < classes; ++c) sum += std::exp(row[c] - top);
    for (int c = 0; c < classes; ++c) row[c] = row[c] - top - std::log(sum);
  }
  return x.tape->record(y, {{x, [x](const Variable& g) { return g - softmax(x) * sum(g, 1); }}});
}

inline Variable softmax(const Variable& x) { return exp(log_softmax(x)); }

inline Variable cross_entropy(const Variable& logits, const std::vector<int>& labels) {
  const Variable logs = log_softmax(logits);
  const Shape shape = value(logs).shape;
  if (labels.size() != static_cast<std::size_t>(shape[0]))
    throw std::invalid_argument("cross_entropy: " + std::to_string(labels.size()) + " labels for " +
                                std::to_string(shape[0]) + " rows");
  std::vector<double> chosen;
  for (const int label : labels) {
    if (label < 0 || label >= shape[1])
      throw std::invalid_argument("cross_entropy: no class " + std::to_string(label));
    for (int c = 0; c < shape[1]; ++c) chosen.push_back(c == label ? 1 : 0);
  }
  const Variable picked = logs * logs.tape->variable({shape, chosen});
  const Variable minus_rows = logs.tape->variable({{1, 1}, {-1.0 * shape[0]}});
  return sum(sum(picked, 0), 1) / minus_rows;
}
