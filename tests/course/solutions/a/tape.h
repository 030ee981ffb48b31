#pragma once

// Nodes in order. Rules compute with variables, so that the sweep itself is recorded.

#include <cmath>
#include <functional>
#include <optional>
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
  Variable variable(const Tensor& value) { return record(value, {}); }
  Variable record(const Tensor& value, const std::vector<Edge>& edges) {
    nodes_.push_back({value, edges});
    return {this, size() - 1};
  }
  int size() const { return static_cast<int>(nodes_.size()); }
  const Tensor& value(int node) const { return nodes_[node].value; }
  const std::vector<Edge>& edges(int node) const { return nodes_[node].edges; }

 private:
  struct Node {
    Tensor value;
    std::vector<Edge> edges;
  };
  std::vector<Node> nodes_;
};

inline const Tensor& value(const Variable& x) { return x.tape->value(x.node); }

inline Variable reshape(const Variable& x, const Shape& shape) {
  const Shape before = value(x).shape;
  return x.tape->record(reshape(value(x), shape),
                        {{x, [=](const Variable& g) { return reshape(g, before); }}});
}

inline Variable sum(const Variable& x, int axis);

// The sum over the axes that broadcasting has added or stretched.
inline Variable sum_to(Variable g, const Shape& shape) {
  const int added = static_cast<int>(value(g).shape.size() - shape.size());
  for (int axis = 0; axis < static_cast<int>(value(g).shape.size()); ++axis)
    if (axis < added || (shape[axis - added] == 1 && value(g).shape[axis] != 1)) g = sum(g, axis);
  return value(g).shape == shape ? g : reshape(g, shape);
}

inline Variable stretch(const Variable& x, const Shape& shape) {
  const Shape before = value(x).shape;
  return x.tape->record(broadcast_to(value(x), shape),
                        {{x, [=](const Variable& g) { return sum_to(g, before); }}});
}

inline Variable sum(const Variable& x, int axis) {
  const Shape before = value(x).shape;
  return x.tape->record(sum(value(x), axis),
                        {{x, [=](const Variable& g) { return stretch(g, before); }}});
}

inline Variable binary(const Variable& x, const Variable& y, const Tensor& result, const Rule& by_x,
                       const Rule& by_y) {
  const Shape of_x = value(x).shape, of_y = value(y).shape;
  return x.tape->record(result, {{x, [=](const Variable& g) { return sum_to(by_x(g), of_x); }},
                                 {y, [=](const Variable& g) { return sum_to(by_y(g), of_y); }}});
}

inline Variable constant(const Variable& like, double number) {
  return like.tape->variable({{}, {number}});
}

inline Variable operator+(const Variable& x, const Variable& y) {
  const Rule same = [](const Variable& g) { return g; };
  return binary(x, y, value(x) + value(y), same, same);
}
inline Variable operator*(const Variable& x, const Variable& y) {
  return binary(
      x, y, value(x) * value(y), [=](const Variable& g) { return g * y; },
      [=](const Variable& g) { return g * x; });
}
inline Variable operator-(const Variable& x, const Variable& y) {
  return binary(
      x, y, value(x) - value(y), [](const Variable& g) { return g; },
      [](const Variable& g) { return g * constant(g, -1); });
}
inline Variable operator/(const Variable& x, const Variable& y) {
  return binary(
      x, y, value(x) / value(y), [=](const Variable& g) { return g / y; },
      [=](const Variable& g) { return g * constant(g, -1) / y * (x / y); });
}

// The rule sees the result as well.
template <class Slope>
Variable unary(const Variable& x, double (*f)(double), const Slope& slope) {
  const Variable y{x.tape, x.tape->size()};
  return x.tape->record(map(value(x), f), {{x, [=](const Variable& g) { return g * slope(y); }}});
}
inline Variable exp(const Variable& x) {
  return unary(x, std::exp, [](const Variable& y) { return y; });
}
inline Variable tanh(const Variable& x) {
  return unary(x, std::tanh, [](const Variable& y) { return constant(y, 1) - y * y; });
}
inline Variable log(const Variable& x) {
  return unary(x, std::log, [x](const Variable& y) { return constant(y, 1) / x; });
}
inline Variable relu(const Variable& x) {
  const Tensor on = map(value(x), [](double each) { return each > 0 ? 1.0 : 0.0; });
  return x.tape->record(map(value(x), [](double each) { return each > 0 ? each : 0.0; }),
                        {{x, [on](const Variable& g) { return g * g.tape->variable(on); }}});
}

inline std::vector<Variable> gradients(const Variable& y, const std::vector<Variable>& xs) {
  if (size(value(y).shape) != 1)
    throw std::invalid_argument("gradients: needs a result with one element");
  Tape& tape = *y.tape;
  std::vector<std::optional<Variable>> gradient(static_cast<std::size_t>(y.node) + 1);
  gradient[y.node] = tape.variable(filled(value(y).shape, 1));
  for (int node = y.node; node >= 0; --node) {
    if (!gradient[node]) continue;
    const std::vector<Edge> edges = tape.edges(node);
    for (const Edge& edge : edges) {
      const Variable part = edge.rule(*gradient[node]);
      std::optional<Variable>& all = gradient[edge.input.node];
      all = all ? *all + part : part;
    }
  }
  std::vector<Variable> wanted;
  for (const Variable& x : xs) {
    const bool used = x.node <= y.node && gradient[x.node];
    wanted.push_back(used ? *gradient[x.node] : tape.variable(filled(value(x).shape, 0)));
  }
  return wanted;
}
