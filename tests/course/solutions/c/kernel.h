#pragma once

// Mean and variance in one pass, as Welford does; the gradient as two projections.

#include <cmath>
#include <memory>
#include <numeric>

#include "layer_norm.h"
#include "matmul.h"

using Row = std::vector<double>;

struct NormalRows {
  std::vector<Row> y;
  Row scale;
};

inline double dot(const Row& a, const Row& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

inline std::vector<Row> rows_of(const Tensor& x) {
  std::vector<Row> rows;
  for (auto at = x.values.begin(); at != x.values.end(); at += x.shape[1])
    rows.emplace_back(at, at + x.shape[1]);
  return rows;
}

inline Tensor tensor_of(const std::vector<Row>& rows) {
  Tensor x{{static_cast<int>(rows.size()), static_cast<int>(rows[0].size())}, {}};
  for (const Row& each : rows) x.values.insert(x.values.end(), each.begin(), each.end());
  return x;
}

inline NormalRows normalize_rows(const Tensor& x, double epsilon) {
  NormalRows result{rows_of(x), {}};
  for (Row& row : result.y) {
    double count = 0, mean = 0, squares = 0;
    for (const double each : row) {
      const double before = each - mean;
      mean += before / ++count;
      squares += before * (each - mean);
    }
    const double scale = 1 / std::sqrt(squares / count + epsilon);
    for (double& each : row) each = scale * (each - mean);
    result.scale.push_back(scale);
  }
  return result;
}

// Takes from `row` its component along `direction`, which has the mean square 1 or less.
inline void project_out(Row& row, const Row& direction) {
  const double along = dot(row, direction) / static_cast<double>(row.size());
  for (std::size_t i = 0; i < row.size(); ++i) row[i] -= along * direction[i];
}

inline Variable layer_norm_kernel(const Variable& x, double epsilon = 1e-5) {
  const auto kept = std::make_shared<const NormalRows>(normalize_rows(value(x), epsilon));
  const auto no_second = [](const Variable& u) {
    throw std::logic_error("the kernel's gradient was differentiated");
    return u;
  };
  return x.tape->record(tensor_of(kept->y),
                        {{x, [=](const Variable& g) {
                            std::vector<Row> dx = rows_of(value(g));
                            for (std::size_t n = 0; n < dx.size(); ++n) {
                              project_out(dx[n], Row(dx[n].size(), 1.0));
                              project_out(dx[n], kept->y[n]);
                              for (double& each : dx[n]) each *= kept->scale[n];
                            }
                            return x.tape->record(tensor_of(dx), {{x, no_second}, {g, no_second}});
                          }}});
}

inline Tensor hessian_times(const std::function<Variable(const Variable& x)>& f, const Tensor& at,
                            const Tensor& v) {
  if (v.shape != at.shape) throw std::invalid_argument("hessian_times: shapes differ");
  const int count = size(at.shape);
  Tape tape;
  const Variable x = tape.variable(at), slope = gradients(f(x), {x}).at(0);
  const Variable along = matmul(reshape(slope, {1, count}), tape.variable(reshape(v, {count, 1})));
  return value(gradients(along, {x}).at(0));
}
