#pragma once

// The statistics of a detached copy of x are detached. Each row is measured on a tape of its own.

#include <cmath>
#include <numeric>
#include <vector>

#include "layer_norm.h"

struct Row {
  double mean, along_z, size;
};

inline Variable normalize(const Variable& x, bool detach_mean, bool detach_deviation,
                          double epsilon = 1e-5) {
  const auto seen = [&](bool detached) { return detached ? detach(x) : x; };
  const Variable for_deviation = seen(detach_deviation);
  const Variable away = for_deviation - mean(for_deviation, 1);
  const Variable small = x.tape->variable(Tensor{{}, {epsilon}});
  const Variable s = sqrt(mean(away * away, 1) + small);
  return (x - mean(seen(detach_mean), 1)) / s;
}

inline double mean_product(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0) / static_cast<double>(a.size());
}

inline Row measure_row(const std::vector<double>& x, const std::vector<double>& g, bool detach_mean,
                       bool detach_deviation, double epsilon) {
  Tape tape;
  const Shape shape{1, static_cast<int>(x.size())};
  const Variable input = tape.variable({shape, x});
  const Variable z = normalize(input, detach_mean, detach_deviation, epsilon);
  const Variable loss = sum(z * tape.variable({shape, g}), 1);
  const Tensor slope = value(gradients(loss, {input})[0]), of_z = value(z);
  const std::vector<double> ones(x.size(), 1.0);
  return {mean_product(slope.values, ones), mean_product(slope.values, of_z.values),
          std::sqrt(mean_product(slope.values, slope.values))};
}

inline std::vector<Row> measure(const Tensor& x, const Tensor& g, bool detach_mean,
                                bool detach_deviation, double epsilon = 0) {
  const auto row = [&](const Tensor& all, int n) {
    const auto begin = all.values.begin() + n * all.shape[1];
    return std::vector<double>(begin, begin + all.shape[1]);
  };
  std::vector<Row> rows;
  for (int n = 0; n < x.shape[0]; ++n)
    rows.push_back(measure_row(row(x, n), row(g, n), detach_mean, detach_deviation, epsilon));
  return rows;
}
