// Right values from long double loops, and gradients from the closed form
// dl/dx = (g - mean(g) - z mean(g z)) / s.
#include "grader/tensors.h"

using grader::announce;
using grader::example;
using grader::expect;
using grader::expect_equal;
using grader::text;

namespace {

using Values = std::vector<double>;

struct Normalized {
  Values z, slope;  // of each element
  Values s;         // of each row
};

// The value, and the gradient of sum(z * g).
Normalized right_norm(const Tensor& x, const Tensor& g, double epsilon) {
  const int columns = x.shape[1];
  Normalized right;
  for (int n = 0; n < x.shape[0]; ++n) {
    const double *row = &x.values[n * columns], *arriving = &g.values[n * columns];
    long double mu = 0, v = 0, mean_g = 0, along = 0;
    for (int i = 0; i < columns; ++i) mu += row[i] / static_cast<long double>(columns);
    for (int i = 0; i < columns; ++i) v += (row[i] - mu) * (row[i] - mu) / columns;
    const long double s = std::sqrt(v + epsilon);
    for (int i = 0; i < columns; ++i) {
      mean_g += arriving[i] / static_cast<long double>(columns);
      along += arriving[i] * (row[i] - mu) / s / columns;
    }
    right.s.push_back(static_cast<double>(s));
    for (int i = 0; i < columns; ++i) {
      const long double z = (row[i] - mu) / s;
      right.z.push_back(static_cast<double>(z));
      right.slope.push_back(static_cast<double>((arriving[i] - mean_g - z * along) / s));
    }
  }
  return right;
}

std::string norm_name(const Tensor& at, double epsilon) {
  return "layer_norm of " + text(at) + " with epsilon " + text(epsilon);
}

Values found_norm(const Tensor& at, double epsilon) {
  announce(norm_name(at, epsilon));
  Tape tape;
  const Tensor z = value(layer_norm(tape.variable(at), epsilon));
  expect(z.shape == at.shape, "layer_norm of " + text(at) + " has shape " + text(z.shape) +
                                  ", must be " + text(at.shape));
  return z.values;
}

void expect_norm(const Tensor& at, double epsilon, double tolerance = 1e-9) {
  expect_equal(norm_name(at, epsilon), found_norm(at, epsilon), right_norm(at, at, epsilon).z,
               tolerance);
}

std::string slope_name(const Tensor& at, const Tensor& g, double epsilon) {
  return "the gradient of sum(layer_norm(x) g) at x = " + text(at) + ", g = " + text(g) +
         ", epsilon = " + text(epsilon);
}

Values found_slope(const Tensor& at, const Tensor& g, double epsilon) {
  announce(slope_name(at, g, epsilon));
  Tape tape;
  const Variable x = tape.variable(at);
  const Variable loss = sum(sum(layer_norm(x, epsilon) * tape.variable(g), 1), 0);
  return value(gradients(loss, {x}).at(0)).values;
}

void expect_slope(const Tensor& at, const Tensor& g, double epsilon) {
  expect_equal(slope_name(at, g, epsilon), found_slope(at, g, epsilon),
               right_norm(at, g, epsilon).slope);
}

void expect_mean(const Tensor& at, int axis, const Tensor& right) {
  const std::string what = "the mean of " + text(at) + " along axis " + std::to_string(axis);
  announce(what);
  Tape tape;
  const Tensor found = value(mean(tape.variable(at), axis));
  expect(found.shape == right.shape,
         what + " has shape " + text(found.shape) + ", must be " + text(right.shape));
  expect_equal(what, found.values, right.values);
}

void expect_mean_slope(const Tensor& at, int axis, const Tensor& g, const Values& right) {
  const std::string what = "the gradient of the mean of " + text(at) + " along axis " +
                           std::to_string(axis) + " for g = " + text(g);
  announce(what);
  Tape tape;
  const Variable x = tape.variable(at);
  const int length = static_cast<int>(g.values.size());
  const Variable loss = sum(reshape(mean(x, axis) * tape.variable(g), {length}), 0);
  expect_equal(what, value(gradients(loss, {x}).at(0)).values, right);
}

const std::vector<double> squares{4, 2, 0.25, 1e-10, 1e10};

const std::vector<grader::Point> points{
    {"detach keeps the value",
     [] {
       for (const Tensor& at : {Tensor{{}, {3}}, Tensor{{2, 2}, {1, -2, 3, 4}}}) {
         announce("detach of " + text(at));
         Tape tape;
         const Variable x = tape.variable(at);
         const Tensor y = value(detach(x)), after = value(x);
         expect(y.shape == at.shape, "detach of " + text(at) + " has shape " + text(y.shape));
         expect_equal("detach of " + text(at), y.values, at.values);
         expect_equal("x after detach(x)", after.values, at.values);
       }
     }},
    {"no gradient flows through detach",
     [] {
       announce("x = 3: the gradient of a function with detach");
       Tape tape;
       const Variable x = tape.variable({{1}, {3}});
       expect_equal("x = 3: the gradient of detach(x)",
                    value(gradients(detach(x), {x}).at(0)).values, Values{0});
       expect_equal("x = 3: the gradient of x detach(x)",
                    value(gradients(x * detach(x), {x}).at(0)).values, Values{3});
       expect_equal("x = 3: the gradient of x x + detach(x x)",
                    value(gradients(x * x + detach(x * x), {x}).at(0)).values, Values{6});
     }},
    {"square roots",
     [] {
       for (const double x : {4.0, 2.0, 0.25, 0.0, 1e10, 1e300}) {
         announce("sqrt of " + text(x));
         Tape tape;
         expect_equal("sqrt of " + text(x), value(sqrt(tape.variable({{}, {x}}))).values,
                      Values{std::sqrt(x)});
       }
       announce("sqrt of {1, 4, 9, 16}");
       Tape tape;
       const Tensor root = value(sqrt(tape.variable({{2, 2}, {1, 4, 9, 16}})));
       expect(root.shape == Shape{2, 2}, "sqrt of (2, 2) has shape " + text(root.shape));
       expect_equal("sqrt of {1, 4, 9, 16}", root.values, Values{1, 2, 3, 4});
     }},
    {"the gradient of the square root",
     [] {
       for (const double at : squares) {
         announce("the gradient of sqrt at " + text(at));
         Tape tape;
         const Variable x = tape.variable({{1}, {at}});
         const double found = value(gradients(sqrt(x), {x}).at(0)).values.at(0),
                      right = 1 / (2 * std::sqrt(at));
         expect(std::abs(found - right) <= 1e-9 * right, "the gradient of sqrt at " + text(at) +
                                                             " is " + text(found) + ", must be " +
                                                             text(right));
       }
     }},
    {"the gradient of the gradient of the square root",
     [] {
       for (const double at : squares) {
         announce("the second derivative of sqrt at " + text(at));
         Tape tape;
         const Variable x = tape.variable({{1}, {at}});
         const Variable slope = gradients(sqrt(x), {x}).at(0);
         const double found = value(gradients(slope, {x}).at(0)).values.at(0),
                      right = -1 / (4 * at * std::sqrt(at));
         expect(std::abs(found - right) <= 1e-9 * -right, "the second derivative of sqrt at " +
                                                              text(at) + " is " + text(found) +
                                                              ", must be " + text(right));
       }
     }},
    {"means along an axis",
     [] {
       expect_mean({{1}, {5}}, 0, {{1}, {5}});
       expect_mean({{3}, {1, 2, 6}}, 0, {{1}, {3}});
       expect_mean({{2, 3}, {1, 2, 6, -1, 0, 4}}, 1, {{2, 1}, {3, 1}});
       expect_mean({{2, 3}, {1, 2, 6, -1, 0, 4}}, 0, {{1, 3}, {0, 1, 5}});
       expect_mean({{2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}}, 1, {{2, 1, 2}, {2, 3, 6, 7}});
     }},
    {"the gradient of the mean",
     [] {
       expect_mean_slope({{2}, {1, 5}}, 0, {{1}, {3}}, {1.5, 1.5});
       expect_mean_slope({{2, 2}, {1, 2, 3, 4}}, 1, {{2, 1}, {1, -4}}, {0.5, 0.5, -2, -2});
       expect_mean_slope({{3, 2}, {1, 2, 3, 4, 5, 6}}, 0, {{1, 2}, {3, -6}}, {1, -2, 1, -2, 1, -2});
     }},
    {"layer_norm of one row",
     [] {
       const double root = std::sqrt(2.0);
       expect_equal(norm_name({{1, 2}, {1, 3}}, 0), found_norm({{1, 2}, {1, 3}}, 0), Values{-1, 1});
       expect_equal(norm_name({{1, 4}, {2, 4, 4, 6}}, 0), found_norm({{1, 4}, {2, 4, 4, 6}}, 0),
                    Values{-root, 0, 0, root});
     }},
    {"each row by itself",
     [] {
       expect_norm({{2, 2}, {1, 3, 10, 50}}, 0);
       expect_norm({{3, 2}, {1, 3, 0, -8, 10, 50}}, 0);
       expect_norm({{2, 3}, {1, 3, 0, -8, 10, 50}}, 0);
       expect_norm(example(5, 7), 0);
     }},
    {"epsilon stands inside the root, and is 1e-5 if nothing is said",
     [] {
       const Tensor at{{1, 2}, {0.001, 0.003}};  // the variance is 1e-6
       expect_norm(at, 1e-5);
       expect_norm(at, 3e-6);
       expect_norm({{1, 2}, {1, 3}}, 3);
       announce("layer_norm of " + text(at) + " without epsilon");
       Tape tape;
       expect_equal("layer_norm of " + text(at) + " without epsilon",
                    value(layer_norm(tape.variable(at))).values, right_norm(at, at, 1e-5).z);
     }},
    {"a row of equal numbers becomes 0, with the gradient (g - mean(g)) / sqrt(epsilon)",
     [] {
       const Tensor at{{1, 2}, {3, 3}}, g{{1, 2}, {1, 0}};
       expect_equal(norm_name(at, 1e-5), found_norm(at, 1e-5), Values{0, 0});
       expect_slope(at, g, 1e-5);
       expect_slope({{2, 4}, {5, 5, 5, 5, 0, 0, 0, 0}}, example(2, 4), 1e-5);
     }},
    {"a row of one number becomes 0, with the gradient 0",
     [] {
       for (const Tensor& at : {Tensor{{1, 1}, {3}}, Tensor{{2, 1}, {-4, 1e6}}}) {
         const Values zeros(at.values.size(), 0.0);
         expect_equal(norm_name(at, 1e-5), found_norm(at, 1e-5), zeros);
         expect_equal(slope_name(at, at, 1e-5), found_slope(at, at, 1e-5), zeros);
       }
     }},
    {"the same with 100,000,000 added to a row",
     [] {
       for (const double shift : {1e4, 1e8}) {
         Tensor at{{1, 4}, {1, 2, 4, 9}};
         for (double& each : at.values) each += shift;
         expect_equal("layer_norm of (1, 2, 4, 9) + " + text(shift), found_norm(at, 1e-5),
                      right_norm(at, at, 1e-5).z, 1e-6);
       }
     }},
    {"large and small rows beside each other",
     [] {
       const Tensor at{{2, 3}, {1e60, 2e60, -5e60, 1e-60, 2e-60, -5e-60}};
       expect_norm(at, 0);
       const Tensor g{{2, 3}, {1, -2, 0.5, 1, -2, 0.5}};
       Values found = found_slope(at, g, 0);
       Normalized right = right_norm(at, g, 0);
       for (std::size_t i = 0; i < found.size(); ++i) {
         found.at(i) *= right.s[i / 3];
         right.slope.at(i) *= right.s[i / 3];
       }
       expect_equal("s times " + slope_name(at, g, 0), found, right.slope);
     }},
    {"the gradient of layer_norm",
     [] {
       expect_slope({{1, 2}, {1, 3}}, {{1, 2}, {1, 0}}, 0);
       expect_slope({{1, 4}, {2, 4, 4, 6}}, {{1, 4}, {1, 0, 0, 0}}, 0);
       expect_slope({{2, 3}, {1, 2, 6, -1, 0, 4}}, {{2, 3}, {1, 0, 2, -1, 1, 0.5}}, 0);
       expect_slope(example(5, 7), example(5, 7, -3), 0);
     }},
    {"the gradient of layer_norm, with epsilon",
     [] {
       expect_slope({{1, 2}, {1, 3}}, {{1, 2}, {1, 0}}, 3);
       expect_slope({{1, 2}, {0.001, 0.003}}, {{1, 2}, {1, 0}}, 1e-5);
       expect_slope(example(4, 6), example(4, 6, 2), 0.1);
     }},
    {"the gradient of the gradient of layer_norm",
     [] {  // along v, from differences of the closed form
       for (const int columns : {3, 6}) {
         const Tensor at = example(2, columns, 2), both = example(4, columns);
         Tensor g = at, v = at, above = at, below = at;
         const double step = 1e-4;
         for (std::size_t i = 0; i < at.values.size(); ++i) {
           g.values[i] = both.values[i + at.values.size()];
           v.values[i] = 1 - at.values[i] * at.values[i];
           above.values[i] += step * v.values[i];
           below.values[i] -= step * v.values[i];
         }
         Values right;
         const Values up = right_norm(above, g, 0.1).slope, down = right_norm(below, g, 0.1).slope;
         for (std::size_t i = 0; i < up.size(); ++i)
           right.push_back((up[i] - down[i]) / (2 * step));
         const std::string what =
             "with l = sum(layer_norm(x, 0.1) g), the gradient of sum(v dl/dx) at x = " + text(at) +
             ", g = " + text(g) + ", v = " + text(v);
         announce(what);
         Tape tape;
         const Variable x = tape.variable(at);
         const Variable loss = sum(sum(layer_norm(x, 0.1) * tape.variable(g), 1), 0);
         const Variable slope = gradients(loss, {x}).at(0);
         const Variable along = sum(sum(slope * tape.variable(v), 1), 0);
         expect_equal(what, value(gradients(along, {x}).at(0)).values, right, 1e-5);
       }
     }},
};

}  // namespace
