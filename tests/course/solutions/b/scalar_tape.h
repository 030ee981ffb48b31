#pragma once

// Each entry has a function that passes its gradient on.

#include <cmath>
#include <functional>
#include <vector>

using Gradients = std::vector<double>;

class Tape {
 public:
  struct Number variable(double value);
  struct Number add(double value, std::function<void(double g, Gradients& all)> pass_on);

  std::vector<double> values;
  std::vector<std::function<void(double, Gradients&)>> rules;
};

struct Number {
  Tape* tape;
  int index;
};

inline Number Tape::variable(double value) {
  return add(value, [](double, Gradients&) {});
}
inline Number Tape::add(double value, std::function<void(double, Gradients&)> pass_on) {
  values.push_back(value);
  rules.push_back(std::move(pass_on));
  return {this, int(values.size()) - 1};
}

inline double value(Number x) { return x.tape->values.at(x.index); }

inline Number unary(Number x, double y, double slope) {
  return x.tape->add(y, [=](double g, Gradients& all) { all[x.index] += g * slope; });
}
inline Number binary(Number x, Number y, double z, double by_x, double by_y) {
  return x.tape->add(z, [=](double g, Gradients& all) {
    all[x.index] += g * by_x;
    all[y.index] += g * by_y;
  });
}

inline Number operator+(Number x, Number y) { return binary(x, y, value(x) + value(y), 1, 1); }
inline Number operator-(Number x, Number y) { return binary(x, y, value(x) - value(y), 1, -1); }
inline Number operator*(Number x, Number y) {
  return binary(x, y, value(x) * value(y), value(y), value(x));
}
inline Number operator/(Number x, Number y) {
  const double a = value(x), b = value(y);
  return binary(x, y, a / b, 1 / b, -a / (b * b));
}
inline Number exp(Number x) { return unary(x, std::exp(value(x)), std::exp(value(x))); }
inline Number log(Number x) { return unary(x, std::log(value(x)), 1 / value(x)); }
inline Number tanh(Number x) {
  return unary(x, std::tanh(value(x)), 1 - std::pow(std::tanh(value(x)), 2));
}

inline std::vector<double> gradients(Number y, const std::vector<Number>& xs) {
  Gradients all(y.tape->values.size(), 0.0);
  all[y.index] = 1;
  for (int i = y.index; i >= 0; --i)
    if (all[i] != 0) y.tape->rules[i](all[i], all);
  std::vector<double> result;
  for (Number x : xs) result.push_back(all[x.index]);
  return result;
}
