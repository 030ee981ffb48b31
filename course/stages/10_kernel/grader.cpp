// The definition and the derived gradient in plain double code, and differences of these.
#include "grader/grader.h"

using grader::announce;
using grader::expect_equal;
using grader::text;

namespace {

using Numbers = std::vector<double>;
using OfOne = std::function<Variable(const Variable& x)>;

// (x - mean) / sqrt(variance + epsilon) for each row of `length` numbers.
Numbers plain_norm(const Numbers& x, int length, double epsilon) {
  Numbers y;
  for (auto row = x.begin(); row != x.end(); row += length) {
    double mean = 0, variance = 0;
    for (int i = 0; i < length; ++i) mean += row[i] / length;
    for (int i = 0; i < length; ++i) variance += (row[i] - mean) * (row[i] - mean) / length;
    for (int i = 0; i < length; ++i) y.push_back((row[i] - mean) / std::sqrt(variance + epsilon));
  }
  return y;
}

// (g - mean(g) - y mean(g y)) / s for each row.
Numbers plain_gradient(const Numbers& x, const Numbers& g, int length, double epsilon) {
  const Numbers y = plain_norm(x, length, epsilon);
  Numbers dx;
  for (std::size_t first = 0; first < x.size(); first += static_cast<std::size_t>(length)) {
    double mean = 0, variance = 0, mean_g = 0, mean_gy = 0;
    for (int i = 0; i < length; ++i) mean += x[first + i] / length;
    for (int i = 0; i < length; ++i) {
      variance += (x[first + i] - mean) * (x[first + i] - mean) / length;
      mean_g += g[first + i] / length;
      mean_gy += g[first + i] * y[first + i] / length;
    }
    for (int i = 0; i < length; ++i)
      dx.push_back((g[first + i] - mean_g - y[first + i] * mean_gy) /
                   std::sqrt(variance + epsilon));
  }
  return dx;
}

Numbers differences_of(const std::function<double(const Numbers&)>& f, const Numbers& at) {
  Numbers slopes;
  for (std::size_t i = 0; i < at.size(); ++i) {
    Numbers above = at, below = at;
    above[i] += 1e-5;
    below[i] -= 1e-5;
    slopes.push_back((f(above) - f(below)) / 2e-5);
  }
  return slopes;
}

double inner(const Numbers& a, const Numbers& b) {
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
  return total;
}

// Numbers that look random: element i is 1.5 sin(phase + 1.3 i) + 0.5.
Numbers waves(int count, double phase) {
  Numbers values;
  for (int i = 0; i < count; ++i) values.push_back(1.5 * std::sin(phase + 1.3 * i) + 0.5);
  return values;
}

Variable total_of_matrix(const Variable& x) { return sum(sum(x, 1), 0); }

// Normalized rows and their gradient, for l = the sum of g y.
struct Normed {
  Numbers y, dx;
};

std::string of_rows(const Numbers& x, int length, double epsilon) {
  return "x = " + text(x) + " in rows of " + std::to_string(length) + ", epsilon " + text(epsilon);
}

Normed by_kernel(const Numbers& x, const Numbers& g, int length, double epsilon) {
  announce((x.size() > 100 ? "a row of " + std::to_string(x.size()) + " numbers"
                           : of_rows(x, length, epsilon) + ", g = " + text(g)) +
           ": y and dl/dx");
  const Shape shape{static_cast<int>(x.size()) / length, length};
  Tape tape;
  const Variable input = tape.variable({shape, x}), weights = tape.variable({shape, g});
  const Variable y = layer_norm_kernel(input, epsilon);
  expect_equal("the shape of the result for " + text(shape), value(y).shape, shape);
  return {value(y).values, value(gradients(total_of_matrix(y * weights), {input}).at(0)).values};
}

void check_value(const Numbers& x, int length, double epsilon, const Numbers& right) {
  const Shape shape{static_cast<int>(x.size()) / length, length};
  announce(of_rows(x, length, epsilon) + ": y");
  Tape tape;
  expect_equal(of_rows(x, length, epsilon) + ": y",
               value(layer_norm_kernel(tape.variable({shape, x}), epsilon)).values, right, 1e-8);
}

void check_dx(const Numbers& x, const Numbers& g, int length, double epsilon, const Numbers& right,
              double tolerance = 1e-8) {
  expect_equal(of_rows(x, length, epsilon) + ", g = " + text(g) + ": dl/dx",
               by_kernel(x, g, length, epsilon).dx, right, tolerance);
}

// How many nodes gradients records for a sum of f(x) w.
int nodes_of_sweep(const std::string& name, const OfOne& f) {
  announce("the gradient of sum(" + name + " w)");
  Tape tape;
  const Variable x = tape.variable({{2, 3}, waves(6, 0)}), w = tape.variable({{2, 3}, waves(6, 1)});
  const Variable l = total_of_matrix(f(x) * w);
  const int before = tape.size();
  gradients(l, {x});
  return tape.size() - before;
}

void check_product(const std::string& name, const OfOne& f, const Tensor& at, const Numbers& v,
                   const Numbers& right, double tolerance = 1e-9) {
  const std::string what = "f = " + name + " at " + text(at.values) + " of shape " +
                           text(at.shape) + ", v = " + text(v) + ": ";
  announce(what + "hessian_times");
  const Tensor found = hessian_times(f, at, {at.shape, v});
  expect_equal(what + "the shape of the result", found.shape, at.shape);
  expect_equal(what + "hessian_times", found.values, right, tolerance);
}

Variable total_of_all(Variable x) {
  const int axes = static_cast<int>(value(x).shape.size());
  for (int axis = 0; axis < axes; ++axis) x = sum(x, axis);
  return x;
}

const std::vector<grader::Point> points{
    {"rows by hand",
     [] {
       check_value({1, 3}, 2, 0, {-1, 1});
       check_value({1, 1, 3, 3}, 4, 0, {-1, -1, 1, 1});
       check_value({5, 0, 0, 5, 0, 5}, 6, 0, {1, -1, -1, 1, -1, 1});
       announce("x = {1, 3}, epsilon by default: y");
       Tape tape;
       expect_equal("x = {1, 3}, epsilon by default: y",
                    value(layer_norm_kernel(tape.variable({{1, 2}, {1, 3}}))).values,
                    {-1 / std::sqrt(1.00001), 1 / std::sqrt(1.00001)});
     }},
    {"epsilon stands under the root",
     [] {
       check_value({1, 3}, 2, 3, {-0.5, 0.5});
       check_value({1, 3}, 2, 8, {-1.0 / 3, 1.0 / 3});
       check_value({0.001, 0.003}, 2, 3e-6, {-0.5, 0.5});
     }},
    {"each row has its own statistics",
     [] {
       check_value({1, 3, 10, 30}, 2, 0, {-1, 1, -1, 1});
       for (const int rows : {1, 2, 5})
         for (const int length : {2, 3, 8}) {
           const Numbers x = waves(rows * length, rows);
           check_value(x, length, 0.01, plain_norm(x, length, 0.01));
         }
     }},
    {"constant rows and rows of one number",
     [] {
       check_value({7}, 1, 1e-5, {0});
       check_value({-3, 0, 1e6}, 1, 1e-5, {0, 0, 0});
       check_value({2, 2, 2, 0, 0, 0}, 3, 1e-5, {0, 0, 0, 0, 0, 0});
     }},
    {"huge rows, tiny rows, and rows far from 0",
     [] {
       const double r = std::sqrt(1.5);
       check_value({1e100, 2e100, 3e100}, 3, 1e-5, {-r, 0, r});
       check_value({-1e150, 0, 1e150}, 3, 1e-5, {-r, 0, r});
       check_value({-1e-140, 0, 1e-140}, 3, 0, {-r, 0, r});
       check_value({-1e-9, 0, 1e-9}, 3, 1e-5, plain_norm({-1e-9, 0, 1e-9}, 3, 1e-5));
       check_value({999999, 1000000, 1000001}, 3, 0, {-r, 0, r});
     }},
    {"one node, and the input stays as it is",
     [] {
       for (const int rows : {1, 4}) {
         announce(std::to_string(rows) + " row(s) of 3 numbers");
         Tape tape;
         const Tensor given{{rows, 3}, waves(3 * rows, 2)};
         const Variable x = tape.variable(given);
         const int before = tape.size();
         layer_norm_kernel(x);
         expect_equal("nodes for " + std::to_string(rows) + " row(s)", tape.size() - before, 1);
         expect_equal("the input, afterwards", value(x).values, given.values);
       }
     }},
    {"the gradient by hand",
     [] {
       check_dx({1, 1, 3, 3}, {4, 0, 0, 0}, 4, 0, {2, -2, 0, 0});
       check_dx({1, 1, 3, 3}, {1, 1, 1, 1}, 4, 0, {0, 0, 0, 0});
       check_dx({1, 1, 3, 3}, {-1, -1, 1, 1}, 4, 0, {0, 0, 0, 0});
       check_dx({1, 1, 3, 3}, {4, 0, 0, 0}, 4, 3, {1.375, -0.625, -0.375, -0.375});
       check_dx({2, 2, 6, 6}, {4, 0, 0, 0}, 4, 0, {1, -1, 0, 0});
     }},
    {"the gradient against differences",
     [] {
       for (const int rows : {1, 2, 3})
         for (const int length : {2, 3, 6})
           for (const double epsilon : {1e-5, 0.5}) {
             const Numbers x = waves(rows * length, 1), g = waves(rows * length, 2);
             check_dx(
                 x, g, length, epsilon,
                 differences_of(
                     [&](const Numbers& at) { return inner(plain_norm(at, length, epsilon), g); },
                     x),
                 1e-6);
           }
     }},
    {"the gradient where a row is constant, huge or tiny",
     [] {
       check_dx({7}, {3}, 1, 1e-5, {0});
       check_dx({2, 2, 2}, {3, 0, 0}, 3, 0.25, {4, -2, -2});
       const Numbers g{1, 2, 4};
       check_dx({-1e-6, 0, 3e-6}, g, 3, 1e-5, plain_gradient({-1e-6, 0, 3e-6}, g, 3, 1e-5));
       for (const double size : {1e100, 1e-100}) {  // dl/dx is as much smaller as x is larger
         const Numbers x{-size, 0, 3 * size};
         Numbers found = by_kernel(x, g, 3, 0).dx;
         for (double& each : found) each *= size;
         expect_equal(of_rows(x, 3, 0) + ", g = " + text(g) + ": " + text(size) + " dl/dx", found,
                      plain_gradient({-1, 0, 3}, g, 3, 0), 1e-8);
       }
     }},
    {"a result that is used twice",
     [] {
       const Numbers at = waves(6, 1);
       announce("x = " + text(at) + " in rows of 3, l = sum(y y y + exp(y)): dl/dx");
       Tape tape;
       const Variable x = tape.variable({{2, 3}, at}), y = layer_norm_kernel(x);
       const Variable l = total_of_matrix(y * y * y + exp(y));
       Numbers g;
       for (const double each : plain_norm(at, 3, 1e-5))
         g.push_back(3 * each * each + std::exp(each));
       expect_equal("x = " + text(at) + " in rows of 3, l = sum(y y y + exp(y)): dl/dx",
                    value(gradients(l, {x}).at(0)).values, plain_gradient(at, g, 3, 1e-5), 1e-8);
     }},
    {"two normalizations, two sweeps",
     [] {
       const Numbers a = waves(6, 1), b = waves(6, 4), g = waves(6, 2);
       announce("x = " + text(a) + " in rows of 3, beside z = " + text(b) + " in rows of 2");
       Tape tape;
       const Variable x = tape.variable({{2, 3}, a}), z = tape.variable({{3, 2}, b});
       const Variable of_x = layer_norm_kernel(x), of_z = layer_norm_kernel(z, 0.5);
       const Variable first = total_of_matrix(of_x * tape.variable({{2, 3}, g}));
       const Variable second = total_of_matrix(of_z * tape.variable({{3, 2}, g}));
       for (int i = 0; i < 100; ++i) tape.variable(filled({10}, i));
       for (const char* which : {"first", "second"}) {
         const std::string sweep = std::string(" in the ") + which + " sweep";
         expect_equal(
             "x = " + text(a) + " in rows of 3, beside another normalization: dl/dx" + sweep,
             value(gradients(first, {x}).at(0)).values, plain_gradient(a, g, 3, 1e-5), 1e-8);
         expect_equal(
             "z = " + text(b) + " in rows of 2, epsilon 0.5, beside another one: dl/dz" + sweep,
             value(gradients(second, {z}).at(0)).values, plain_gradient(b, g, 2, 0.5), 1e-8);
       }
     }},
    {"the gradient is one node",
     [] {
       const int without = nodes_of_sweep("x", [](const Variable& x) { return x; });
       const int with = nodes_of_sweep("layer_norm_kernel(x)",
                                       [](const Variable& x) { return layer_norm_kernel(x); });
       // A sweep may take a node or two of its own for what it passes.
       grader::expect(with - without <= 3, "the sweep of sum(y w) records " + std::to_string(with) +
                                               " nodes with y = "
                                               "layer_norm_kernel(x), and " +
                                               std::to_string(without) +
                                               " with y = x; the rule must record one");
     }},
    {"a row of 100,000 numbers",
     [] {
       constexpr int length = 100000;
       const Numbers x = waves(length, 1), g = waves(length, 2);
       const Normed found = by_kernel(x, g, length, 1e-5);
       const Numbers y = plain_norm(x, length, 1e-5), dx = plain_gradient(x, g, length, 1e-5);
       for (const int i : {0, 1, length / 2, length - 1}) {
         const std::string at = "a row of 100,000 numbers: element " + std::to_string(i) + " of ";
         expect_equal(at + "y", found.y.at(i), y[i], 1e-7);
         expect_equal(at + "dl/dx", found.dx.at(i), dx[i], 1e-7);
       }
     }},
    {"the kernel's second derivatives are right or refused",
     [] {
       const Numbers at = waves(6, 1), g = waves(6, 2), v = waves(6, 5);
       announce("x = " + text(at) + " in rows of 3, l = sum(y w), and the gradient of dl/dx v");
       Tape tape;
       const Variable x = tape.variable({{2, 3}, at}), w = tape.variable({{2, 3}, g});
       const Variable y = layer_norm_kernel(x);
       const Variable dx = gradients(total_of_matrix(y * w), {x}).at(0);
       const Variable along = total_of_matrix(dx * tape.variable({{2, 3}, v}));
       const auto check_or_refuse = [&](const std::string& by, const Variable& input,
                                        const Numbers& right) {
         Numbers found;
         try {
           found = value(gradients(along, {input}).at(0)).values;
         } catch (const std::exception&) {
           return;
         }
         expect_equal("x = " + text(at) + " in rows of 3, l = sum(y w), the sum of dl/dx v, by " +
                          by + ": its gradient",
                      found, right, 1e-6);
       };
       check_or_refuse(
           "x", x,
           differences_of(
               [&](const Numbers& near) { return inner(plain_gradient(near, g, 3, 1e-5), v); },
               at));
       check_or_refuse("w", w, plain_gradient(at, v, 3, 1e-5));
     }},
    {"second derivatives by hand",
     [] {
       const OfOne cube = [](const Variable& x) { return total_of_all(x * x * x); };
       check_product("x x x", cube, {{}, {3}}, {1}, {18});
       check_product("x x x", cube, {{1}, {3}}, {-3}, {-54});
       const OfOne mixed = [](const Variable& x) {  // x1 x1 x2
         const Variable first = sum(x * x.tape->variable({{2}, {1, 0}}), 0);
         const Variable second = sum(x * x.tape->variable({{2}, {0, 1}}), 0);
         return first * first * second;
       };
       check_product("x1 x1 x2", mixed, {{2}, {2, 3}}, {1, 0}, {6, 4});
       check_product("x1 x1 x2", mixed, {{2}, {2, 3}}, {0, 1}, {4, 0});
       check_product("x1 x1 x2", mixed, {{2}, {2, 3}}, {1, -2}, {-2, 4});
     }},
    {"second derivatives in every shape",
     [] {
       for (const Shape& shape : {Shape{3}, Shape{2, 3}, Shape{1, 1}, Shape{2, 1, 3}}) {
         const Tensor at{shape, waves(size(shape), 1)};
         const Numbers v = waves(size(shape), 2);
         Numbers of_exp, of_tanh;
         for (std::size_t i = 0; i < v.size(); ++i) {
           const double t = std::tanh(at.values[i]);
           of_exp.push_back(std::exp(at.values[i]) * v[i]);
           of_tanh.push_back(-2 * t * (1 - t * t) * v[i]);
         }
         check_product(
             "sum(exp(x))", [](const Variable& x) { return total_of_all(exp(x)); }, at, v, of_exp);
         check_product(
             "sum(tanh(x))", [](const Variable& x) { return total_of_all(tanh(x)); }, at, v,
             of_tanh);
         const Numbers none(v.size(), 0.0);
         check_product(
             "sum(x)", [](const Variable& x) { return total_of_all(x); }, at, v, none);
         check_product(
             "a constant",
             [](const Variable& x) {
               return x.tape->variable({{}, {5}});
             },
             at, v, none);
       }
     }},
    {"second derivatives of layer_norm",
     [] {
       for (const int rows : {1, 2})
         for (const int length : {2, 4}) {
           const Tensor at{{rows, length}, waves(rows * length, 1)};
           const Numbers v = waves(rows * length, 2), g = waves(rows * length, 3);
           check_product(
               "sum(layer_norm(x, 0.1) g), g = " + text(g),
               [&](const Variable& x) {
                 return total_of_matrix(layer_norm(x, 0.1) * x.tape->variable({at.shape, g}));
               },
               at, v,
               differences_of(
                   [&](const Numbers& near) {
                     return inner(plain_gradient(near, g, length, 0.1), v);
                   },
                   at.values),
               1e-7);
           check_product(
               "sum(exp(layer_norm(x, 0.1)))",
               [](const Variable& x) { return total_of_matrix(exp(layer_norm(x, 0.1))); }, at, v,
               differences_of(
                   [&](const Numbers& near) {
                     Numbers by_y = plain_norm(near, length, 0.1);
                     for (double& each : by_y) each = std::exp(each);
                     return inner(plain_gradient(near, by_y, length, 0.1), v);
                   },
                   at.values),
               1e-7);
         }
     }},
    {"a direction of another shape is refused",
     [] {
       const OfOne f = [](const Variable& x) { return total_of_all(x * x); };
       for (const Shape& shape : {Shape{}, Shape{1}, Shape{2}, Shape{1, 3}, Shape{4}})
         grader::expect_refused<std::invalid_argument>(
             "hessian_times at x of shape (3), with v of shape " + text(shape),
             [&] { hessian_times(f, filled({3}, 1), filled(shape, 1)); });
     }},
};

}  // namespace
