#pragma once

// Columns of numbers, and a sweep that visits only what leads to y.

#include <cmath>
#include <map>
#include <vector>

class Tape;

struct Number {
  Tape* tape;
  int index;
};

class Tape {
 public:
  Number variable(double value) { return push(value, -1, 0, -1, 0); }
  Number push(double value, int left, double by_left, int right, double by_right) {
    value_.push_back(value);
    left_.push_back(left);
    right_.push_back(right);
    by_left_.push_back(by_left);
    by_right_.push_back(by_right);
    return Number{this, static_cast<int>(value_.size() - 1)};
  }
  double value(int i) const { return value_[i]; }

  std::map<int, double> sweep(int from) const {
    std::map<int, double> waiting{{from, 1.0}}, done;
    while (!waiting.empty()) {
      const auto last = std::prev(waiting.end());
      const auto [i, g] = *last;
      waiting.erase(last);
      done[i] = g;
      if (left_[i] >= 0) waiting[left_[i]] += g * by_left_[i];
      if (right_[i] >= 0) waiting[right_[i]] += g * by_right_[i];
    }
    return done;
  }

 private:
  std::vector<double> value_, by_left_, by_right_;
  std::vector<int> left_, right_;
};

inline double value(Number x) { return x.tape->value(x.index); }

inline Number operator+(Number x, Number y) {
  return x.tape->push(value(x) + value(y), x.index, 1, y.index, 1);
}
inline Number operator-(Number x, Number y) {
  return x.tape->push(value(x) - value(y), x.index, 1, y.index, -1);
}
inline Number operator*(Number x, Number y) {
  return x.tape->push(value(x) * value(y), x.index, value(y), y.index, value(x));
}
inline Number exp(Number x) {
  const double y = std::exp(value(x));
  return x.tape->push(y, x.index, y, -1, 0);
}
inline Number log(Number x) {
  return x.tape->push(std::log(value(x)), x.index, 1 / value(x), -1, 0);
}
inline Number tanh(Number x) {
  const double y = std::tanh(value(x));
  return x.tape->push(y, x.index, (1 - y) * (1 + y), -1, 0);
}
inline Number reciprocal(Number x) {
  const double y = 1 / value(x);
  return x.tape->push(y, x.index, -y * y, -1, 0);
}
inline Number operator/(Number x, Number y) { return x * reciprocal(y); }

inline std::vector<double> gradients(Number y, const std::vector<Number>& xs) {
  const std::map<int, double> all = y.tape->sweep(y.index);
  std::vector<double> wanted;
  for (const Number& x : xs) wanted.push_back(all.count(x.index) ? all.at(x.index) : 0.0);
  return wanted;
}
