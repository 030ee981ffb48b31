#pragma once

// One composition; what a form detaches is a choice of variable.

#include "layer_norm.h"

struct Row {
  double mean, along_z, size;
};

inline Variable normalize(const Variable& x, bool detach_mean, bool detach_deviation,
                          double epsilon = 1e-5) {
  const Variable mu = mean(x, 1), centered = x - (detach_mean ? detach(mu) : mu);
  const Variable variance = mean(centered * centered, 1);
  const Variable deviation = sqrt(variance + x.tape->variable(filled({}, epsilon)));
  return centered / (detach_deviation ? detach(deviation) : deviation);
}

inline std::vector<Row> measure(const Tensor& x, const Tensor& g, bool detach_mean,
                                bool detach_deviation, double epsilon = 0) {
  Tape tape;
  const Variable input = tape.variable(x);
  const Variable z = normalize(input, detach_mean, detach_deviation, epsilon);
  const Variable loss = sum(sum(z * tape.variable(g), 1), 0);
  const Tensor slope = value(gradients(loss, {input}).at(0)), normalized = value(z);
  const int rows = x.shape[0], length = x.shape[1];
  std::vector<Row> measures;
  for (int n = 0; n < rows; ++n) {
    Row row{0, 0, 0};
    for (int i = n * length; i < (n + 1) * length; ++i) {
      const double d = slope.values[i];
      row.mean += d / length;
      row.along_z += d * normalized.values[i] / length;
      row.size += d * d / length;
    }
    row.size = std::sqrt(row.size);
    measures.push_back(row);
  }
  return measures;
}
