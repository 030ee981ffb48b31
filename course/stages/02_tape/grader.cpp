// Right derivatives are formulas or are written out. What has many elements is weighted and summed
// by a rule of the grader's own, so that a point tests one operation alone.
#include "grader/tensors.h"

using grader::announce;
using grader::expect;
using grader::expect_equal;
using grader::text;

namespace {

Tensor numbered(const Shape& shape) {
  int count = 1;
  for (const int length : shape) count *= length;
  Tensor x{shape, {}};
  for (int i = 1; i <= count; ++i) x.values.push_back(i);
  return x;
}

Tensor scaled(Tensor x, double factor) {
  for (double& each : x.values) each *= factor;
  return x;
}

// y_1 + 2 y_2 + 3 y_3 + ... as one node.
Variable total(const Variable& y) {
  const Tensor of = value(y), weights = numbered(of.shape);
  double all = 0;
  for (std::size_t i = 0; i < of.values.size(); ++i) all += weights.values[i] * of.values[i];
  return y.tape->record({{}, {all}},
                        {{y, [weights](const Variable& g) {
                            return g.tape->variable(scaled(weights, value(g).values.at(0)));
                          }}});
}

using Function = std::function<Variable(const std::vector<Variable>&)>;

// What f returns; what it throws is reported with its input.
template <class F>
auto tried(const std::string& what, const F& f) {
  announce(what);
  try {
    return f();
  } catch (const std::exception& error) {
    throw grader::Failure{what + " threw: " + error.what()};
  }
}

// The value of f, and the gradients of its total by each input.
void check_gradients(const std::string& name, const Function& f, const std::vector<Tensor>& at,
                     const Tensor& right, const std::vector<Tensor>& slopes) {
  Tape tape;
  std::vector<Variable> xs;
  std::string inputs;
  for (const Tensor& each : at) {
    inputs += (xs.empty() ? "x = " : ", y = ") + text(each);
    xs.push_back(tape.variable(each));
  }
  const Variable y = tried(inputs + ": " + name, [&] { return f(xs); });
  expect_equal(inputs + ": " + name, value(y), right);
  const bool one = right.shape.empty();
  const std::string l = one ? name : "l",
                    where = one ? "" : "with l = z1 + 2 z2 + 3 z3 + ... of z = " + name + ": ";
  const std::vector<Variable> found = tried(inputs + ": " + where + "the sweep from " + l,
                                            [&] { return gradients(one ? y : total(y), xs); });
  expect(found.size() == at.size(), inputs + ": gradients by " + std::to_string(at.size()) +
                                        " variables has " + std::to_string(found.size()) +
                                        " elements");
  for (std::size_t i = 0; i < at.size(); ++i)
    expect_equal(inputs + ": " + where + (one ? "d(" + l + ")/d" : "dl/d") + "xy"[i],
                 value(found[i]), slopes[i]);
}

const std::vector<double> inputs{1, 2, -1, 0.5, -3, 10};

Tensor number(double x) { return {{}, {x}}; }

using Plain = double (*)(double);

struct Curve {
  std::string name;
  Variable (*on_tape)(const Variable&);
  Plain value, slope, bend;  // bend: the second derivative
  bool positive = false;
};

void check_curve(const Curve& f) {
  const Function function = [&](const std::vector<Variable>& x) { return f.on_tape(x[0]); };
  const std::string name = f.name + "(x)";
  Tensor all{{0}, {}}, right = all, slopes = all;
  for (const double at : inputs) {
    if (f.positive && at <= 0) continue;
    check_gradients(name, function, {number(at)}, number(f.value(at)), {number(f.slope(at))});
    all.values.push_back(at);
    right.values.push_back(f.value(at));
    slopes.values.push_back(f.slope(at) * static_cast<double>(all.values.size()));
  }
  const int count = static_cast<int>(all.values.size());
  all.shape = right.shape = slopes.shape = {count};
  check_gradients(name, function, {all}, right, {slopes});
  all.shape = right.shape = slopes.shape = {1, count, 1};
  check_gradients(name, function, {all}, right, {slopes});
}

const Curve exp_curve{"exp", [](const Variable& x) { return exp(x); },
                      [](double x) { return std::exp(x); }, [](double x) { return std::exp(x); },
                      [](double x) { return std::exp(x); }};
const Curve log_curve{"log",
                      [](const Variable& x) { return log(x); },
                      [](double x) { return std::log(x); },
                      [](double x) { return 1 / x; },
                      [](double x) { return -1 / (x * x); },
                      true};
const Curve tanh_curve{"tanh", [](const Variable& x) { return tanh(x); },
                       [](double x) { return std::tanh(x); },
                       [](double x) { return 1 - std::tanh(x) * std::tanh(x); },
                       [](double x) {
                         const double y = std::tanh(x);
                         return -2 * y * (1 - y * y);
                       }};

using Binary = double (*)(double, double);

// With operands of equal shapes.
void check_sign(const std::string& sign, const Function& f, Binary right, Binary by_x,
                Binary by_y) {
  const std::string name = "x " + sign + " y";
  for (const double a : inputs)
    for (const double b : inputs)
      check_gradients(name, f, {number(a), number(b)}, number(right(a, b)),
                      {number(by_x(a, b)), number(by_y(a, b))});
  const Tensor a{{2, 2}, {1, -2, 3, 4}}, b{{2, 2}, {5, 2, -0.5, 8}};
  Tensor value = a, slope_x = a, slope_y = a;
  for (int i = 0; i < 4; ++i) {
    value.values[i] = right(a.values[i], b.values[i]);
    slope_x.values[i] = (i + 1) * by_x(a.values[i], b.values[i]);
    slope_y.values[i] = (i + 1) * by_y(a.values[i], b.values[i]);
  }
  check_gradients(name, f, {a, b}, value, {slope_x, slope_y});
}

double one(double, double) { return 1; }

Variable added(const std::vector<Variable>& x) { return x[0] + x[1]; }
Variable subtracted(const std::vector<Variable>& x) { return x[0] - x[1]; }
Variable multiplied(const std::vector<Variable>& x) { return x[0] * x[1]; }
Variable divided(const std::vector<Variable>& x) { return x[0] / x[1]; }

double slope_of(const Variable& y, const Variable& x) {
  return value(gradients(y, {x}).at(0)).values.at(0);
}

template <class F>
void expect_invalid(const std::string& what, const F& f) {
  grader::expect_refused<std::invalid_argument>(what, f);
}

const Tensor matrix{{2, 3}, {1, 2, 3, 4, 5, 6}}, row{{3}, {10, 20, 40}}, column{{2, 1}, {10, 20}};

const std::vector<grader::Point> points{
    {"a variable is its value, and a node",
     [] {
       announce("the variables () {5} and " + text(matrix) + " of a new tape");
       Tape tape;
       expect_equal("the size of a new tape", tape.size(), 0);
       const Variable x = tape.variable(number(5)), y = tape.variable(matrix);
       expect_equal("the value of a variable", value(x), number(5));
       expect_equal("the value of a variable", value(y), matrix);
       expect(x.node == 0 && y.node == 1, "the nodes of the first two variables are " +
                                              std::to_string(x.node) + " and " +
                                              std::to_string(y.node) + ", must be 0 and 1");
       expect_equal("the size of a tape with two variables", tape.size(), 2);
     }},
    {"a rule of one's own",
     [] {  // z of shape (2) from x of shape (), used twice; the rules need not be true
       announce("rules from x of shape () to z of shape (2), and twice from z to l");
       Tape tape;
       std::string asked;
       const Variable x = tape.variable(number(3));
       const Variable z = tape.record({{2}, {7, 8}}, {{x, [&](const Variable& g) {
                                                         asked += text(value(g));
                                                         return g.tape->variable(number(100));
                                                       }}});
       const auto pass = [](double by) {
         return [by](const Variable& g) {
           return g.tape->variable({{2}, {by * value(g).values.at(0), -by}});
         };
       };
       const Variable l = tape.record(number(9), {{z, pass(2)}, {z, pass(3)}});
       expect_equal("the value of a recorded node", value(z), {{2}, {7, 8}});
       expect_equal("what the rule returns", value(gradients(l, {x}).at(0)), number(100));
       expect(asked == "(2) {5, -5}",
              "with {2, -2} and {3, -3} from two rules, the rule before them is asked with " +
                  asked + ", must be once with (2) {5, -5}");
     }},
    {"sums and differences",
     [] {
       check_sign(
           "+", added, [](double a, double b) { return a + b; }, one, one);
       check_sign(
           "-", subtracted, [](double a, double b) { return a - b; }, one,
           [](double, double) { return -1.0; });
     }},
    {"products and quotients",
     [] {
       check_sign(
           "*", multiplied, [](double a, double b) { return a * b; },
           [](double, double b) { return b; }, [](double a, double) { return a; });
       check_sign(
           "/", divided, [](double a, double b) { return a / b; },
           [](double, double b) { return 1 / b; }, [](double a, double b) { return -a / (b * b); });
     }},
    {"quotients of tiny and huge numbers",
     [] {  // y y is 0 or infinite in the computer, -x/y^2 is not
       for (const double at : {1e-200, 1e200})
         check_gradients("x / y", divided, {number(at), number(at)}, number(1),
                         {number(1 / at), number(-1 / at)});
     }},
    {"exp, log, tanh",
     [] {
       for (const Curve& curve : {exp_curve, log_curve, tanh_curve}) check_curve(curve);
     }},
    {"relu",
     [] {
       const Function f = [](const std::vector<Variable>& x) { return relu(x[0]); };
       for (const double at : {2.0, -2.0, 0.0, 1e-300, -1e-300, 1e300})
         check_gradients("relu(x)", f, {number(at)}, number(at > 0 ? at : 0),
                         {number(at > 0 ? 1 : 0)});
       check_gradients("relu(x)", f, {{{2, 2}, {-1, 5, 0, 3}}}, {{2, 2}, {0, 5, 0, 3}},
                       {{{2, 2}, {0, 2, 0, 4}}});
     }},
    {"the gradient of a sum along an axis",
     [] {
       const auto along = [](int axis) {
         return [axis](const std::vector<Variable>& x) { return sum(x[0], axis); };
       };
       check_gradients("sum(x, 0)", along(0), {{{3}, {1, 2, 4}}}, {{1}, {7}}, {{{3}, {1, 1, 1}}});
       check_gradients("sum(x, 0)", along(0), {{{1}, {5}}}, {{1}, {5}}, {{{1}, {1}}});
       check_gradients("sum(x, 0)", along(0), {matrix}, {{1, 3}, {5, 7, 9}},
                       {{{2, 3}, {1, 2, 3, 1, 2, 3}}});
       check_gradients("sum(x, 1)", along(1), {matrix}, {{2, 1}, {6, 15}},
                       {{{2, 3}, {1, 1, 1, 2, 2, 2}}});
       check_gradients("sum(x, 1)", along(1), {numbered({2, 2, 2})}, {{2, 1, 2}, {4, 6, 12, 14}},
                       {{{2, 2, 2}, {1, 2, 1, 2, 3, 4, 3, 4}}});
     }},
    {"the gradient of reshape",
     [] {
       const auto as = [](const Shape& shape) {
         return [shape](const std::vector<Variable>& x) { return reshape(x[0], shape); };
       };
       check_gradients("reshape(x, {1, 1})", as({1, 1}), {number(5)}, {{1, 1}, {5}}, {number(1)});
       check_gradients("reshape(x, {3, 2})", as({3, 2}), {matrix}, {{3, 2}, matrix.values},
                       {numbered({2, 3})});
       check_gradients("reshape(x, {6})", as({6}), {matrix}, {{6}, matrix.values},
                       {numbered({2, 3})});
     }},
    {"gradients sum over axes that broadcasting stretched",
     [] {
       check_gradients("x + y", added, {{{2}, {1, 2}}, {{1}, {5}}}, {{2}, {6, 7}},
                       {{{2}, {1, 2}}, {{1}, {3}}});
       check_gradients("x + y", added, {{{1, 1}, {1}}, {{1, 1}, {5}}}, {{1, 1}, {6}},
                       {{{1, 1}, {1}}, {{1, 1}, {1}}});
       check_gradients("x + y", added, {matrix, column}, {{2, 3}, {11, 12, 13, 24, 25, 26}},
                       {numbered({2, 3}), {{2, 1}, {6, 15}}});
       check_gradients("x * y", multiplied, {matrix, column}, {{2, 3}, {10, 20, 30, 80, 100, 120}},
                       {{{2, 3}, {10, 20, 30, 80, 100, 120}}, {{2, 1}, {14, 77}}});
       check_gradients("x - y", subtracted, {{{1, 3}, {7, 8, 9}}, column},
                       {{2, 3}, {-3, -2, -1, -13, -12, -11}},
                       {{{1, 3}, {5, 7, 9}}, {{2, 1}, {-6, -15}}});
     }},
    {"gradients sum over axes that broadcasting added",
     [] {
       check_gradients("x + y", added, {{{2}, {1, 2}}, number(5)}, {{2}, {6, 7}},
                       {{{2}, {1, 2}}, number(3)});
       check_gradients("x + y", added, {{{1, 1}, {1}}, number(5)}, {{1, 1}, {6}},
                       {{{1, 1}, {1}}, number(1)});
       check_gradients("x + y", added, {matrix, row}, {{2, 3}, {11, 22, 43, 14, 25, 46}},
                       {numbered({2, 3}), {{3}, {5, 7, 9}}});
       check_gradients("x * y", multiplied, {row, matrix}, {{2, 3}, {10, 40, 120, 40, 100, 240}},
                       {{{3}, {17, 29, 45}}, {{2, 3}, {10, 40, 120, 40, 100, 240}}});
       check_gradients("x / y", divided, {matrix, number(2)}, {{2, 3}, {0.5, 1, 1.5, 2, 2.5, 3}},
                       {{{2, 3}, {0.5, 1, 1.5, 2, 2.5, 3}}, number(-91.0 / 4)});
       check_gradients("x - y", subtracted, {column, row}, {{2, 3}, {0, -10, -30, 10, 0, -20}},
                       {{{2, 1}, {6, 15}}, {{3}, {-5, -7, -9}}});
     }},
    {"each derivative waits for all that use it, and adds",
     [] {
       for (const double at : inputs) {
         announce("x = " + text(at) + ": the derivatives of x + x, and of x^6 as v * w");
         Tape tape;
         const Variable x = tape.variable(number(at)), twice = x + x;
         expect_equal("x = " + text(at) + ": d(x + x)/dx", slope_of(twice, x), 2);
         const Variable v = x * x, w = v * v;
         expect_equal("x = " + text(at) + ": with v = x * x and w = v * v: d(v * w)/dx",
                      slope_of(v * w, x), 6 * std::pow(at, 5));
       }
     }},
    {"what y does not depend on has gradient 0, and y itself 1",
     [] {
       announce("x = (1, 1) {2}: the gradients of x * x by six variables");
       Tape tape;
       const Variable before = tape.variable({{3}, {7, 8, 9}});
       const Variable x = tape.variable({{1, 1}, {2}}), y = x * x, later = y * x;
       const Variable other = tape.variable(matrix);
       const std::vector<Variable> found = gradients(y, {other, later, y, x, x, before});
       expect(found.size() == 6,
              "gradients by 6 variables has " + std::to_string(found.size()) + " elements");
       expect_equal("the gradient of x * x by a matrix of its own", value(found[0]),
                    {{2, 3}, {0, 0, 0, 0, 0, 0}});
       expect_equal("the gradient of x * x by a vector recorded before x", value(found[5]),
                    {{3}, {0, 0, 0}});
       expect_equal("the gradient of x * x by x * x * x", value(found[1]), {{1, 1}, {0}});
       expect_equal("the gradient of x * x by itself", value(found[2]), {{1, 1}, {1}});
       for (const int i : {3, 4})
         expect_equal("x = 2, asked for twice: the gradient of x * x", value(found[i]),
                      {{1, 1}, {4}});
     }},
    {"what does not fit is refused",
     [] {
       Tape tape;
       const Variable x = tape.variable(matrix), two = tape.variable({{2}, {1, 2}});
       expect_invalid("(2, 3) + (2)", [&] { x + two; });
       expect_invalid("(2, 3) / (2)", [&] { x / two; });
       expect_invalid("the sum of a matrix along axis 2", [&] { sum(x, 2); });
       expect_invalid("a matrix (2, 3) as (5)", [&] { reshape(x, {5}); });
       expect_invalid("the gradient of a y with two elements", [&] { gradients(two, {two}); });
     }},
    {"a second sweep gives the same",
     [] {
       announce("x = 2: d(x x x)/dx, twice, and a sweep over another tape");
       Tape tape, another;
       const Variable x = tape.variable(number(2)), y = x * x * x;
       const Variable other = another.variable(number(5)), of_other = other * other;
       expect_equal("x = 2: d(x x x)/dx, the first time", slope_of(y, x), 12);
       expect_equal("z = 5, on another tape: d(z z)/dz", slope_of(of_other, other), 10);
       expect_equal("x = 2: d(x x x)/dx, the second time", slope_of(y, x), 12);
       const Variable z = exp(x) * y;
       expect_equal("x = 2: d(exp(x) x x x)/dx after it", slope_of(z, x), std::exp(2.0) * 20);
       expect_equal("x = 2, after four sweeps: x", value(x), number(2));
     }},
    {"gradients of gradients of numbers",
     [] {
       for (const double at : inputs) {
         Tape tape;
         const std::string where = "x = " + text(at) + ": the ";
         announce(where + "second and third derivatives of several functions");
         const Variable x = tape.variable(number(at)), z = tape.variable(number(4));
         const Variable slope = gradients(x * x * x, {x}).at(0), bend = gradients(slope, {x}).at(0);
         expect_equal(where + "second derivative of x x x", value(bend).values.at(0), 6 * at);
         expect_equal(where + "third derivative of x x x", slope_of(bend, x), 6);
         for (const Curve& curve : {exp_curve, log_curve, tanh_curve})
           if (at > 0 || !curve.positive)
             expect_equal(where + "second derivative of " + curve.name + "(x)",
                          slope_of(gradients(curve.on_tape(x), {x}).at(0), x), curve.bend(at));
         const std::vector<Variable> by = gradients(z / x, {z, x});
         expect_equal("z = 4, " + where + "derivative of z / x by z, then x", slope_of(by[0], x),
                      -1 / (at * at));
         expect_equal("z = 4, " + where + "derivative of z / x by x, twice", slope_of(by[1], x),
                      8 / (at * at * at));
         const Variable on = gradients(relu(x), {x}).at(0);
         expect_equal(where + "second derivative of relu(x)", slope_of(on, x), 0);
         expect_equal("z = 4, " + where + "derivative of relu(x) z by x, then z",
                      slope_of(gradients(relu(x) * z, {x}).at(0), z), at > 0 ? 1 : 0);
       }
     }},
    {"gradients of gradients through broadcasting, sum and reshape",
     [] {  // l = sum over i, j of x_ij^2 y_j^2, so dl/dy_j = 2 y_j (sum over i of x_ij^2)
       announce("x = " + text(matrix) + ", y = (3) {1, 2, -1}: gradients of gradients");
       Tape tape;
       const Variable x = tape.variable(matrix), y = tape.variable({{3}, {1, 2, -1}});
       const Variable l = sum(reshape(x * y * (x * y), {6}), 0);
       const std::vector<Variable> first = gradients(l, {x, y});
       const std::string where =
           "with l = the sum of x_ij^2 y_j^2, x = " + text(matrix) + " and y = (3) {1, 2, -1}: ";
       expect_equal(where + "dl/dy", value(first[1]), {{3}, {34, 116, -90}});
       const std::vector<Variable> second = gradients(total(first[1]), {x, y});
       expect_equal(where + "the gradient of s1 + 2 s2 + 3 s3 + ... of s = dl/dy by x",
                    value(second[0]), {{2, 3}, {4, 32, -36, 16, 80, -72}});
       expect_equal(where + "the gradient of s1 + 2 s2 + 3 s3 + ... of s = dl/dy by y",
                    value(second[1]), {{3}, {34, 116, 270}});
       const Variable columns = sum(x, 0);
       const Variable slope = gradients(sum(columns * columns, 1), {x}).at(0);
       expect_equal("with l = the sum of the squares of sum(x, 0), x = " + text(matrix) +
                        ": the gradient of s1 + 2 s2 + 3 s3 + ... of s = dl/dx",
                    value(gradients(total(slope), {x}).at(0)), {{2, 3}, {10, 14, 18, 10, 14, 18}});
     }},
    {"long chains, and many paths",
     [] {
       announce("x = 1: chains of 10,000 and of 60 operations");
       Tape tape;
       const Variable x = tape.variable(number(1)), step = tape.variable(number(1e-4));
       Variable y = x, z = x;
       for (int i = 0; i < 10000; ++i) y = y + y * step;
       expect_equal("x = 1: d/dx of x (1 + 1e-4)^10000", slope_of(y, x), std::pow(1 + 1e-4, 1e4),
                    1e-6);
       for (int i = 0; i < 60; ++i) z = z + z;
       expect_equal("x = 1: d/dx of x, doubled 60 times by z + z", slope_of(z, x),
                    std::pow(2.0, 60));
     }},
};

}  // namespace
