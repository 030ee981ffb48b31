#pragma once

// The measures are computed with variables, as means along the rows.

#include "layer_norm.h"

struct Row {
  double mean, along_z, size;
};

inline Variable kept_or_cut(const Variable& x, bool cut) { return cut ? detach(x) : x; }

inline Variable normalize(const Variable& x, bool detach_mean, bool detach_deviation,
                          double epsilon = 1e-5) {
  const Variable small = x.tape->variable(filled({}, epsilon));
  const Variable deviation = sqrt(variance(x, 1) + small);
  return (x - kept_or_cut(mean(x, 1), detach_mean)) / kept_or_cut(deviation, detach_deviation);
}

inline std::vector<Row> measure(const Tensor& x, const Tensor& g, bool detach_mean,
                                bool detach_deviation, double epsilon = 0) {
  Tape tape;
  const Variable input = tape.variable(x), arriving = tape.variable(g);
  const Variable z = normalize(input, detach_mean, detach_deviation, epsilon);
  const Variable slope = gradients(sum(sum(z * arriving, 0), 1), {input})[0];
  const Tensor means = value(mean(slope, 1)), along = value(mean(slope * z, 1)),
               sizes = value(sqrt(mean(slope * slope, 1)));
  std::vector<Row> rows;
  for (std::size_t n = 0; n < means.values.size(); ++n)
    rows.push_back({means.values[n], along.values[n], sizes.values[n]});
  return rows;
}
