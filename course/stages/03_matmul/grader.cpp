// Right products and derivatives are loops over plain numbers. What has many elements is weighted
// and summed by a rule of the grader's own.
#include "grader/tensors.h"

using grader::announce;
using grader::expect;
using grader::expect_equal;
using grader::text;

namespace {

// The right product, element by element.
Tensor times(const Tensor& a, const Tensor& b) {
  const int m = a.shape[0], k = a.shape[1], n = b.shape[1];
  Tensor c{{m, n}, {}};
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double dot = 0;
      for (int l = 0; l < k; ++l) dot += a.values[i * k + l] * b.values[l * n + j];
      c.values.push_back(dot);
    }
  return c;
}

Tensor flipped(const Tensor& a) {
  Tensor b{{a.shape[1], a.shape[0]}, {}};
  for (int j = 0; j < a.shape[1]; ++j)
    for (int i = 0; i < a.shape[0]; ++i) b.values.push_back(a.values[i * a.shape[1] + j]);
  return b;
}

Tensor plus(Tensor a, const Tensor& b) {
  for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] += b.values[i];
  return a;
}

// A matrix of small numbers without a pattern.
Tensor some(int rows, int columns, int seed) {
  Tensor x{{rows, columns}, {}};
  for (int i = 0; i < rows * columns; ++i) x.values.push_back((i * i + seed * (i + 3)) % 11 - 5);
  return x;
}

// l = the sum of w_ij y_ij, as one node.
Variable weighted(const Variable& y, const Tensor& w) {
  double all = 0;
  for (std::size_t i = 0; i < w.values.size(); ++i) all += w.values[i] * value(y).values[i];
  return y.tape->record({{}, {all}}, {{y, [w](const Variable& g) {
                                         Tensor part = w;
                                         for (double& each : part.values)
                                           each *= value(g).values.at(0);
                                         return g.tape->variable(part);
                                       }}});
}

// The gradient of l by x; what the sweep throws is reported with its input.
void check_gradient(const std::string& what, const Variable& l, const Variable& x,
                    const Tensor& right) {
  try {
    expect_equal(what, value(gradients(l, {x}).at(0)), right);
  } catch (const std::exception& error) {
    throw grader::Failure{what + ": the sweep threw: " + error.what()};
  }
}

void check_product(const Tensor& a, const Tensor& b, const Tensor& right) {
  const std::string what = text(a) + " times " + text(b);
  announce(what);
  expect_equal(what, matmul(a, b), right);
}

struct Pair {
  Tensor a, b;
};

// Numbers, squares, and what tells rows from columns.
std::vector<Pair> pairs() {
  return {{{{1, 1}, {2}}, {{1, 1}, {3}}},       {{{2, 2}, {1, 2, 3, 4}}, {{2, 2}, {5, 6, 7, 8}}},
          {{{1, 2}, {1, 2}}, {{2, 1}, {3, 4}}}, {{{2, 1}, {1, 2}}, {{1, 2}, {3, 4}}},
          {some(2, 3, 1), some(3, 4, 2)},       {some(4, 3, 3), some(3, 1, 4)}};
}

std::string named(const Pair& pair) { return "a = " + text(pair.a) + ", b = " + text(pair.b); }

template <class F>
void expect_invalid(const std::string& what, const F& f) {
  grader::expect_refused<std::invalid_argument>(what, f);
}

// Shapes of which no product exists.
const std::vector<std::pair<Shape, Shape>> unfit{
    {{2, 3}, {2, 3}}, {{2, 3}, {4, 2}}, {{3}, {3, 1}},       {{1, 3}, {3}},
    {{3}, {3}},       {{}, {}},         {{1, 2, 2}, {2, 2}}, {{2, 2}, {1, 2, 2}}};

Tensor ones(const Shape& shape) {
  int count = 1;
  for (const int length : shape) count *= length;
  return {shape, std::vector<double>(static_cast<std::size_t>(count), 1.0)};
}

const std::vector<grader::Point> points{
    {"a row times a column, and a column times a row",
     [] {
       check_product({{1, 1}, {2}}, {{1, 1}, {3}}, {{1, 1}, {6}});
       const Tensor row{{1, 3}, {1, 2, 3}}, column{{3, 1}, {4, 5, 6}};
       check_product(row, column, {{1, 1}, {32}});
       check_product(column, row, {{3, 3}, {4, 8, 12, 5, 10, 15, 6, 12, 18}});
     }},
    {"square matrices, in this order",
     [] {
       const Tensor a{{2, 2}, {1, 2, 3, 4}}, b{{2, 2}, {5, 6, 7, 8}};
       check_product(a, b, {{2, 2}, {19, 22, 43, 50}});
       check_product(b, a, {{2, 2}, {23, 34, 31, 46}});
       expect_equal(text(a) + " times the identity", matmul(a, Tensor{{2, 2}, {1, 0, 0, 1}}), a);
     }},
    {"rectangles",
     [] {
       for (const Pair& pair : pairs()) check_product(pair.a, pair.b, times(pair.a, pair.b));
     }},
    {"huge and tiny numbers",
     [] {
       const Tensor a{{1, 2}, {1e200, 1e-200}}, b{{2, 1}, {1e-200, 1e200}};
       check_product(a, b, {{1, 1}, {2}});
       const Tensor c{{1, 3}, {1e9, 1, -1e9}};
       expect_equal(text(c) + " times (3, 1) {1, 1, 1}", matmul(c, ones({3, 1})), {{1, 1}, {1}});
     }},
    {"matrices that do not fit are refused",
     [] {
       for (const auto& [a, b] : unfit)
         expect_invalid("the product of " + text(a) + " and " + text(b),
                        [&, &of_a = a, &of_b = b] { matmul(ones(of_a), ones(of_b)); });
     }},
    {"the transpose on the tape, and its gradient",
     [] {
       for (const Tensor& x : {Tensor{{1, 1}, {5}}, some(1, 3, 1), some(2, 3, 2), some(3, 3, 3)}) {
         announce("x = " + text(x));
         Tape tape;
         const Variable v = tape.variable(x), y = transpose(v);
         expect_equal("x = " + text(x) + ": its transpose", value(y), flipped(x));
         const Tensor w = some(x.shape[1], x.shape[0], 5);
         check_gradient("x = " + text(x) +
                            ", l = the sum of w_ij y_ij for its transpose y with w = " + text(w) +
                            ": dl/dx",
                        weighted(y, w), v, flipped(w));
       }
       Tape tape;
       const Variable vector = tape.variable({{2}, {1, 2}});
       expect_invalid("the transpose of a vector", [&] { transpose(vector); });
     }},
    {"the product on the tape",
     [] {
       for (const Pair& pair : pairs()) {
         announce(named(pair));
         Tape tape;
         const Variable a = tape.variable(pair.a), b = tape.variable(pair.b);
         expect_equal(named(pair) + ": a b", value(matmul(a, b)), times(pair.a, pair.b));
       }
       for (const auto& [of_a, of_b] : unfit) {
         Tape tape;
         const Variable a = tape.variable(ones(of_a)), b = tape.variable(ones(of_b));
         expect_invalid("on the tape: the product of " + text(of_a) + " and " + text(of_b),
                        [&] { matmul(a, b); });
       }
     }},
    {"the gradient by the left matrix",
     [] {
       for (const Pair& pair : pairs()) {
         announce(named(pair));
         Tape tape;
         const Variable a = tape.variable(pair.a);
         const Variable c = matmul(a, tape.variable(pair.b));
         const Tensor w = some(pair.a.shape[0], pair.b.shape[1], 6);
         check_gradient(
             named(pair) + ", l = the sum of w_ij (a b)_ij with w = " + text(w) + ": dl/da",
             weighted(c, w), a, times(w, flipped(pair.b)));
       }
     }},
    {"the gradient by the right matrix",
     [] {
       for (const Pair& pair : pairs()) {
         announce(named(pair));
         Tape tape;
         const Variable b = tape.variable(pair.b);
         const Variable c = matmul(tape.variable(pair.a), b);
         const Tensor w = some(pair.a.shape[0], pair.b.shape[1], 6);
         check_gradient(
             named(pair) + ", l = the sum of w_ij (a b)_ij with w = " + text(w) + ": dl/db",
             weighted(c, w), b, times(flipped(pair.a), w));
       }
     }},
    {"a matrix times itself",
     [] {
       for (const Tensor& a : {Tensor{{1, 1}, {3}}, Tensor{{2, 2}, {1, 2, 3, 4}}, some(3, 3, 2)}) {
         announce("x = " + text(a));
         Tape tape;
         const Variable x = tape.variable(a), y = matmul(x, x);
         const Tensor w = some(a.shape[0], a.shape[0], 4);
         check_gradient(
             "x = " + text(a) + ", l = the sum of w_ij (x x)_ij with w = " + text(w) + ": dl/dx",
             weighted(y, w), x, plus(times(w, flipped(a)), times(flipped(a), w)));
       }
     }},
    {"a matrix times its transpose",
     [] {
       for (const Tensor& a : {Tensor{{1, 1}, {3}}, Tensor{{1, 2}, {3, 4}}, some(3, 2, 2)}) {
         announce("x = " + text(a));
         Tape tape;
         const Variable x = tape.variable(a), y = matmul(x, transpose(x));
         const Tensor w = some(a.shape[0], a.shape[0], 4);
         check_gradient("x = " + text(a) +
                            ", l = the sum of w_ij y_ij for y = x times its transpose, w = " +
                            text(w) + ": dl/dx",
                        weighted(y, w), x, times(plus(w, flipped(w)), a));
       }
     }},
    {"a product of three",
     [] {
       Tape tape;
       const Tensor p = some(2, 3, 1), q = some(3, 4, 2), r = some(4, 2, 3), w = some(2, 2, 4);
       const Variable a = tape.variable(p), b = tape.variable(q), c = tape.variable(r);
       const Variable l = weighted(matmul(matmul(a, b), c), w);
       const std::string where = "a = " + text(p) + ", b = " + text(q) + ", c = " + text(r) +
                                 ", l = the sum of w_ij ((a b) c)_ij with w = " + text(w) + ": ";
       check_gradient(where + "dl/db", l, b, times(flipped(p), times(w, flipped(r))));
       check_gradient(where + "dl/da", l, a, times(w, flipped(times(q, r))));
       check_gradient(where + "dl/dc", l, c, times(flipped(times(p, q)), w));
     }},
    {"a layer of a network, against differences",
     [] {  // of the sum of w_ij tanh(x u + b)_ij
       const std::vector<Tensor> at{{{2, 3}, {0.5, -0.2, 0.1, 0.3, 0.8, -0.6}},
                                    {{3, 2}, {0.3, -0.4, 0.7, 0.2, -0.1, 0.9}},
                                    {{2}, {0.1, -0.3}}};
       const Tensor w{{2, 2}, {1, -2, 3, 0.5}};
       const auto plain = [&](const std::vector<Tensor>& in) {
         const Tensor product = times(in[0], in[1]);
         double all = 0;
         for (int i = 0; i < 4; ++i)
           all += w.values[i] * std::tanh(product.values[i] + in[2].values[i % 2]);
         return all;
       };
       Tape tape;
       std::vector<Variable> v;
       for (const Tensor& each : at) v.push_back(tape.variable(each));
       const Variable l = weighted(tanh(matmul(v[0], v[1]) + v[2]), w);
       const std::vector<Variable> found = gradients(l, v);
       const std::string names[]{"x", "u", "b"};
       for (std::size_t i = 0; i < at.size(); ++i) {
         Tensor right = at[i];
         for (std::size_t j = 0; j < right.values.size(); ++j) {
           std::vector<Tensor> up = at, down = at;
           up[i].values[j] += 1e-5;
           down[i].values[j] -= 1e-5;
           right.values[j] = (plain(up) - plain(down)) / 2e-5;
         }
         expect_equal("x = " + text(at[0]) + ", u = " + text(at[1]) + ", b = " + text(at[2]) +
                          ", l = the sum of w_ij tanh(x u + b)_ij with w = " + text(w) + ": dl/d" +
                          names[i],
                      value(found.at(i)), right, 1e-8);
       }
     }},
    {"gradients of gradients of a product",
     [] {  // dl/da = w b', and the sum of its elements times v has the gradient v' w by b
       for (const Pair& pair : pairs()) {
         announce(named(pair));
         Tape tape;
         const Variable a = tape.variable(pair.a), b = tape.variable(pair.b);
         const Tensor w = some(pair.a.shape[0], pair.b.shape[1], 6);
         const Variable l = weighted(matmul(a, b), w);
         const std::vector<Variable> first = gradients(l, {a, b});
         const Tensor v = some(pair.a.shape[0], pair.a.shape[1], 7),
                      u = some(pair.b.shape[0], pair.b.shape[1], 8);
         const std::string where =
             named(pair) + ", l = the sum of w_ij (a b)_ij with w = " + text(w) + ": ";
         check_gradient(
             where + "the gradient of the sum of v_ij (dl/da)_ij with v = " + text(v) + " by b",
             weighted(first.at(0), v), b, times(flipped(v), w));
         check_gradient(
             where + "the gradient of the sum of u_ij (dl/db)_ij with u = " + text(u) + " by a",
             weighted(first.at(1), u), a, times(w, flipped(u)));
       }
     }},
    {"gradients of gradients of a power",
     [] {
       for (const Tensor& a : {Tensor{{1, 1}, {3}}, Tensor{{2, 2}, {1, 2, 3, 4}}, some(3, 3, 2)}) {
         announce("x = " + text(a));
         Tape tape;
         const Variable x = tape.variable(a);
         const Tensor w = some(a.shape[0], a.shape[0], 4), v = some(a.shape[0], a.shape[0], 7);
         const Variable l = weighted(matmul(x, transpose(matmul(transpose(x), transpose(x)))), w);
         // y = x x x: dl/dx = w (x')^2 + x' w x' + (x')^2 w
         const Tensor t = flipped(a);
         const Variable slope = gradients(l, {x}).at(0);
         const std::string where = "x = " + text(a) +
                                   ", l = the sum of w_ij (x x x)_ij with w = " + text(w) +
                                   ", x x written as (x' x')': ";
         expect_equal(
             where + "dl/dx", value(slope),
             plus(plus(times(w, times(t, t)), times(t, times(w, t))), times(times(t, t), w)));
         // Second derivatives are symmetric: what is asked for is how dl/dx changes along v.
         const Tensor d = flipped(v);
         const Tensor right = plus(plus(plus(times(w, times(d, t)), times(w, times(t, d))),
                                        plus(times(d, times(w, t)), times(t, times(w, d)))),
                                   plus(times(times(d, t), w), times(times(t, d), w)));
         check_gradient(where + "the gradient of the sum of v_ij (dl/dx)_ij with v = " + text(v),
                        weighted(slope, v), x, right);
       }
     }},
    {"a second sweep gives the same",
     [] {
       Tape tape;
       const Tensor p = some(2, 3, 1), q = some(3, 2, 2), w = some(2, 2, 4);
       const Variable a = tape.variable(p), b = tape.variable(q);
       const Variable l = weighted(matmul(a, b), w);
       const std::string where = named({p, q}) + ", l = the sum of w_ij (a b)_ij: ";
       check_gradient(where + "dl/da, the first time", l, a, times(w, flipped(q)));
       check_gradient(where + "dl/da, the second time", l, a, times(w, flipped(q)));
       expect_equal("a after two sweeps", value(a), p);
       expect_equal("b after two sweeps", value(b), q);
     }},
    {"500 turns by 1 degree",
     [] {
       const double degree = std::acos(-1.0) / 180;
       Tape tape;
       const Variable x = tape.variable({{2, 1}, {1, 0}});
       const Variable turn = tape.variable(
           {{2, 2}, {std::cos(degree), -std::sin(degree), std::sin(degree), std::cos(degree)}});
       Variable y = x;
       for (int i = 0; i < 500; ++i) y = matmul(turn, y);
       const double c = std::cos(500 * degree), s = std::sin(500 * degree);
       expect_equal("(1, 0) turned 500 times by 1 degree", value(y), {{2, 1}, {c, s}});
       check_gradient("the gradient of its first element by the vector at the start",
                      weighted(y, {{2, 1}, {1, 0}}), x, {{2, 1}, {c, -s}});
     }},
    {"a million products of numbers",
     [] {
       const Tensor p = some(100, 101, 1), q = some(101, 99, 2), w = some(100, 99, 4);
       Tape tape;
       const Variable a = tape.variable(p), b = tape.variable(q), c = matmul(a, b);
       const auto same = [](const std::string& what, const Tensor& found, const Tensor& right) {
         const std::string of = "with matrices (100, 101) and (101, 99): " + what;
         expect(found.shape == right.shape && found.values.size() == right.values.size(),
                of + " has shape " + text(found.shape) + ", must be " + text(right.shape));
         for (std::size_t i = 0; i < right.values.size(); ++i)
           expect_equal(of + ", element " + std::to_string(i), found.values[i], right.values[i]);
       };
       same("the product", value(c), times(p, q));
       same("the gradient by the left one", value(gradients(weighted(c, w), {a}).at(0)),
            times(w, flipped(q)));
     }},
};

}  // namespace
