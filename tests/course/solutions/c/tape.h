#pragma once

// Few rules: sums, products, reciprocals and a handful of functions; the rest is made of these. The
// sweep visits only what lies between the xs and y.

#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include "tensor.h"

class Tape;

struct Variable {
  Tape* tape;
  int node;
};

using Rule = std::function<Variable(const Variable& g)>;

struct Edge {
  Variable input;
  Rule rule;
};

class Tape {
 public:
  Variable variable(const Tensor& value) { return record(value, std::vector<Edge>()); }
  Variable record(const Tensor& value, const std::vector<Edge>& edges) {
    values_.push_back(std::make_shared<const Tensor>(value));
    edges_.push_back(edges);
    return Variable{this, size() - 1};
  }
  int size() const { return static_cast<int>(values_.size()); }
  const Tensor& value(int node) const { return *values_[node]; }
  std::vector<Edge> edges(int node) const { return edges_[node]; }

 private:
  std::vector<std::shared_ptr<const Tensor>> values_;
  std::vector<std::vector<Edge>> edges_;
};

inline const Tensor& value(const Variable& x) { return x.tape->value(x.node); }

inline Variable number(Tape* tape, double x) { return tape->variable(filled({}, x)); }

inline Variable operator*(const Variable& x, const Variable& y);

inline Variable reshape(const Variable& x, const Shape& shape) {
  const Shape before = value(x).shape;
  const Rule back = [before](const Variable& g) { return reshape(g, before); };
  return x.tape->record(reshape(value(x), shape), {{x, back}});
}
inline Variable sum(const Variable& x, int axis) {
  const Shape before = value(x).shape;
  const Rule spread = [before](const Variable& g) {
    return g * g.tape->variable(filled(before, 1));
  };
  return x.tape->record(sum(value(x), axis), {{x, spread}});
}

// A gradient in the shape of an operand: first no more axes than it has, then none longer.
inline Variable fit(const Variable& g, const Shape& shape) {
  const Shape now = value(g).shape;
  if (now.size() > shape.size())
    return fit(reshape(sum(g, 0), Shape(now.begin() + 1, now.end())), shape);
  Variable fitting = g;
  for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis)
    if (now[axis] > shape[axis]) fitting = sum(fitting, axis);
  return fitting;
}

inline Variable operator+(const Variable& x, const Variable& y) {
  const auto fit_to = [](const Variable& input) {
    return [input](const Variable& g) { return fit(g, value(input).shape); };
  };
  return x.tape->record(value(x) + value(y), {{x, fit_to(x)}, {y, fit_to(y)}});
}
inline Variable operator*(const Variable& x, const Variable& y) {
  const auto times = [](const Variable& input, const Variable& other) {
    return [=](const Variable& g) { return fit(g * other, value(input).shape); };
  };
  return x.tape->record(value(x) * value(y), {{x, times(x, y)}, {y, times(y, x)}});
}
inline Variable operator-(const Variable& x, const Variable& y) {
  return x + y * number(y.tape, -1);
}
inline Variable reciprocal(const Variable& x) {
  const Rule rule = [x](const Variable& g) {
    const Variable y = reciprocal(x);
    return g * y * y * number(x.tape, -1);
  };
  return x.tape->record(map(value(x), [](double each) { return 1 / each; }), {{x, rule}});
}
inline Variable operator/(const Variable& x, const Variable& y) { return x * reciprocal(y); }

inline Variable exp(const Variable& x) {
  const Rule rule = [x](const Variable& g) { return g * exp(x); };
  return x.tape->record(map(value(x), [](double each) { return std::exp(each); }), {{x, rule}});
}
inline Variable log(const Variable& x) {
  const Rule rule = [x](const Variable& g) { return g * reciprocal(x); };
  return x.tape->record(map(value(x), [](double each) { return std::log(each); }), {{x, rule}});
}
inline Variable tanh(const Variable& x) {
  const Rule rule = [x](const Variable& g) {
    const Variable y = tanh(x), one = number(x.tape, 1);
    return g * ((one - y) * (one + y));
  };
  return x.tape->record(map(value(x), [](double each) { return std::tanh(each); }), {{x, rule}});
}
inline Variable relu(const Variable& x) {
  return x * x.tape->variable(map(value(x), [](double each) { return each > 0 ? 1.0 : 0.0; }));
}

inline std::vector<Variable> gradients(const Variable& y, const std::vector<Variable>& xs) {
  if (size(value(y).shape) != 1) throw std::invalid_argument("gradients: y has several elements");
  Tape* tape = y.tape;
  const int count = tape->size();
  std::vector<bool> leads_back(count, false);
  for (const Variable& x : xs) leads_back[x.node] = true;
  for (int node = 0; node <= y.node; ++node)
    for (const Edge& edge : tape->edges(node))
      if (leads_back[edge.input.node]) leads_back[node] = true;
  std::vector<std::vector<Variable>> arrived(count);
  std::vector<int> gradient(count, -1);
  arrived[y.node].push_back(tape->variable(filled(value(y).shape, 1)));
  for (int node = y.node; node >= 0; --node) {
    if (!leads_back[node] || arrived[node].empty()) continue;
    Variable all = arrived[node].front();
    for (std::size_t i = 1; i < arrived[node].size(); ++i) all = all + arrived[node][i];
    gradient[node] = all.node;
    for (const Edge& edge : tape->edges(node))
      if (leads_back[edge.input.node]) arrived[edge.input.node].push_back(edge.rule(all));
  }
  std::vector<Variable> wanted;
  for (const Variable& x : xs)
    wanted.push_back(gradient[x.node] < 0 ? tape->variable(filled(value(x).shape, 0))
                                          : Variable{tape, gradient[x.node]});
  return wanted;
}
