#pragma once

// A list of entries, each with at most two edges.

#include <cmath>
#include <vector>

class Tape;

struct Number {
  Tape* tape;
  int index;
};

struct Edge {
  int input;
  double slope;
};

struct Entry {
  double value;
  std::vector<Edge> edges;
};

class Tape {
 public:
  Number variable(double value) { return add({value, {}}); }
  Number add(const Entry& entry) {
    entries.push_back(entry);
    return {this, static_cast<int>(entries.size()) - 1};
  }
  std::vector<Entry> entries;
};

inline double value(Number x) { return x.tape->entries[x.index].value; }

inline Number operator+(Number x, Number y) {
  return x.tape->add({value(x) + value(y), {{x.index, 1}, {y.index, 1}}});
}
inline Number operator-(Number x, Number y) {
  return x.tape->add({value(x) - value(y), {{x.index, 1}, {y.index, -1}}});
}
inline Number operator*(Number x, Number y) {
  return x.tape->add({value(x) * value(y), {{x.index, value(y)}, {y.index, value(x)}}});
}
inline Number operator/(Number x, Number y) {
  const double quotient = value(x) / value(y);
  return x.tape->add({quotient, {{x.index, 1 / value(y)}, {y.index, -quotient / value(y)}}});
}
inline Number exp(Number x) {
  const double y = std::exp(value(x));
  return x.tape->add({y, {{x.index, y}}});
}
inline Number log(Number x) { return x.tape->add({std::log(value(x)), {{x.index, 1 / value(x)}}}); }
inline Number tanh(Number x) {
  const double y = std::tanh(value(x));
  return x.tape->add({y, {{x.index, 1 - y * y}}});
}

inline std::vector<double> gradients(Number y, const std::vector<Number>& xs) {
  const std::vector<Entry>& entries = y.tape->entries;
  std::vector<double> gradient(entries.size());
  gradient[y.index] = 1;
  for (int i = y.index; i >= 0; --i)
    for (const Edge& edge : entries[i].edges) gradient[edge.input] += edge.slope * gradient[i];
  std::vector<double> wanted;
  for (const Number& x : xs) wanted.push_back(gradient[x.index]);
  return wanted;
}
