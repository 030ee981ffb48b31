#pragma once

// Operations stretch their operands first, and then know only equal shapes. The sweep keeps the
// gradients that wait, by their nodes.

#include <cmath>
#include <deque>
#include <functional>
#include <map>
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

struct Node {
  Tensor value;
  std::vector<Edge> edges;
};

class Tape {
 public:
  Variable variable(Tensor value) { return record(std::move(value), {}); }
  Variable record(Tensor value, std::vector<Edge> edges) {
    nodes.push_back({std::move(value), std::move(edges)});
    return {this, size() - 1};
  }
  int size() const { return int(nodes.size()); }
  std::deque<Node> nodes;  // where they are, they stay
};

inline const Tensor& value(const Variable& x) { return x.tape->nodes.at(x.node).value; }

inline Variable shrink(const Variable& x, const Shape& shape);

inline Variable stretch(const Variable& x, const Shape& shape) {
  const Shape before = value(x).shape;
  if (before == shape) return x;
  return x.tape->record(broadcast_to(value(x), shape),
                        {{x, [before](const Variable& g) { return shrink(g, before); }}});
}

// The opposite of stretch: the sum over all that was repeated.
inline Variable shrink(const Variable& x, const Shape& shape) {
  const Shape before = value(x).shape;
  Tensor all = value(x);
  const int added = int(before.size() - shape.size());
  for (int axis = 0; axis < int(before.size()); ++axis)
    if (axis < added || shape[axis - added] == 1) all = sum(all, axis);
  return x.tape->record(reshape(all, shape),
                        {{x, [before](const Variable& g) { return stretch(g, before); }}});
}

using Operation = Variable (*)(const Variable&, const Variable&);

// The operation on operands of one shape.
inline Variable broadcasting(const Variable& x, const Variable& y, Operation operation) {
  const Shape shape = broadcast(value(x).shape, value(y).shape);
  return operation(stretch(x, shape), stretch(y, shape));
}

inline Variable operator*(const Variable& a, const Variable& b) {
  return broadcasting(a, b, [](const Variable& x, const Variable& y) {
    return x.tape->record(value(x) * value(y), {{x, [y](const Variable& g) { return g * y; }},
                                                {y, [x](const Variable& g) { return x * g; }}});
  });
}
inline Variable scaled(const Variable& x, double factor) {
  return x.tape->record(map(value(x), [factor](double each) { return factor * each; }),
                        {{x, [factor](const Variable& g) { return scaled(g, factor); }}});
}
inline Variable operator+(const Variable& a, const Variable& b) {
  return broadcasting(a, b, [](const Variable& x, const Variable& y) {
    const Rule pass = [](const Variable& g) { return g; };
    return x.tape->record(value(x) + value(y), {{x, pass}, {y, pass}});
  });
}
inline Variable operator-(const Variable& a, const Variable& b) {
  return broadcasting(a, b, [](const Variable& x, const Variable& y) {
    return x.tape->record(value(x) - value(y),
                          {{x, [](const Variable& g) { return g; }},
                           {y, [](const Variable& g) { return scaled(g, -1); }}});
  });
}
inline Variable operator/(const Variable& a, const Variable& b) {
  return broadcasting(a, b, [](const Variable& x, const Variable& y) {
    return x.tape->record(
        value(x) / value(y),
        {{x, [y](const Variable& g) { return g / y; }},
         {y, [x, y](const Variable& g) { return scaled((g / y) * (x / y), -1); }}});
  });
}

inline Variable exp(const Variable& x) {
  return x.tape->record(map(value(x), [](double each) { return std::exp(each); }),
                        {{x, [x](const Variable& g) { return g * exp(x); }}});
}
inline Variable log(const Variable& x) {
  return x.tape->record(map(value(x), [](double each) { return std::log(each); }),
                        {{x, [x](const Variable& g) { return g / x; }}});
}
inline Variable tanh(const Variable& x) {
  return x.tape->record(map(value(x), [](double each) { return std::tanh(each); }),
                        {{x, [x](const Variable& g) {
                            const Variable y = tanh(x);
                            return g - g * (y * y);
                          }}});
}
inline Variable relu(const Variable& x) {
  return x.tape->record(map(value(x), [](double each) { return std::max(each, 0.0); }),
                        {{x, [x](const Variable& g) {
                            Tensor on = value(x);
                            for (double& each : on.values) each = each > 0;
                            return g * g.tape->variable(on);
                          }}});
}

inline Variable sum(const Variable& x, int axis) {
  const Shape before = value(x).shape;
  return x.tape->record(sum(value(x), axis),
                        {{x, [before](const Variable& g) { return stretch(g, before); }}});
}
inline Variable reshape(const Variable& x, const Shape& shape) {
  const Shape before = value(x).shape;
  return x.tape->record(reshape(value(x), shape),
                        {{x, [before](const Variable& g) { return reshape(g, before); }}});
}

inline std::vector<Variable> gradients(const Variable& y, const std::vector<Variable>& xs) {
  if (value(y).values.size() != 1) throw std::invalid_argument("gradients of many numbers");
  Tape& tape = *y.tape;
  std::map<int, Variable> waiting, done;
  waiting.insert({y.node, tape.variable(filled(value(y).shape, 1))});
  while (!waiting.empty()) {
    const auto [node, g] = *waiting.rbegin();
    waiting.erase(node);
    done.insert({node, g});
    for (const Edge& edge : tape.nodes[node].edges) {
      const Variable part = edge.rule(g);
      const auto [at, first] = waiting.insert({edge.input.node, part});
      if (!first) at->second = at->second + part;
    }
  }
  std::vector<Variable> wanted;
  for (const Variable& x : xs)
    wanted.push_back(done.count(x.node) ? done.at(x.node)
                                        : tape.variable(filled(value(x).shape, 0)));
  return wanted;
}
