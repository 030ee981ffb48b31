// Derivatives by differences and by hand; nothing here computes with the student's tape but the
// tape.
#include "grader/grader.h"

using grader::announce;
using grader::expect_equal;
using grader::text;

namespace {

const std::vector<double> inputs{1, 2, -1, 0.5, -3, 10};

// Computes a function and compares its value and derivative with the right ones, at each input.
void check(const std::string& name, const std::function<Number(Number)>& f,
           const std::function<double(double)>& right, const std::function<double(double)>& slope,
           bool positive = false) {
  for (const double at : inputs) {
    if (positive && at <= 0) continue;
    announce("x = " + text(at) + ": " + name);
    Tape tape;
    const Number x = tape.variable(at), y = f(x);
    expect_equal("x = " + text(at) + ": " + name, value(y), right(at));
    expect_equal("x = " + text(at) + ": d(" + name + ")/dx", gradients(y, {x}).at(0), slope(at));
  }
}

using Operation = Number (*)(Number, Number);

void check_binary(const std::string& sign, Operation f, double (*right)(double, double),
                  double (*by_x)(double, double), double (*by_y)(double, double)) {
  for (const double a : inputs)
    for (const double b : inputs) {
      const std::string at = "x = " + text(a) + ", y = " + text(b) + ": ",
                        name = "x " + sign + " y";
      announce(at + name);
      Tape tape;
      const Number x = tape.variable(a), y = tape.variable(b), z = f(x, y);
      expect_equal(at + name, value(z), right(a, b));
      const std::vector<double> d = gradients(z, {x, y});
      grader::expect(d.size() == 2,
                     at + "gradients of two numbers has " + std::to_string(d.size()) + " elements");
      expect_equal(at + "d(" + name + ")/dx", d[0], by_x(a, b));
      expect_equal(at + "d(" + name + ")/dy", d[1], by_y(a, b));
    }
}

double one(double, double) { return 1; }

const std::vector<grader::Point> points{
    {"a variable is its value",
     [] {
       for (const double at : inputs) {
         announce("the value of a variable of " + text(at));
         Tape tape;
         expect_equal("the value of a variable", value(tape.variable(at)), at);
       }
     }},
    {"sums",
     [] {
       check_binary(
           "+", [](Number x, Number y) { return x + y; }, [](double a, double b) { return a + b; },
           one, one);
     }},
    {"differences",
     [] {
       check_binary(
           "-", [](Number x, Number y) { return x - y; }, [](double a, double b) { return a - b; },
           one, [](double, double) { return -1.0; });
     }},
    {"products",
     [] {
       check_binary(
           "*", [](Number x, Number y) { return x * y; }, [](double a, double b) { return a * b; },
           [](double, double b) { return b; }, [](double a, double) { return a; });
     }},
    {"quotients",
     [] {
       check_binary(
           "/", [](Number x, Number y) { return x / y; }, [](double a, double b) { return a / b; },
           [](double, double b) { return 1 / b; }, [](double a, double b) { return -a / (b * b); });
     }},
    {"exp",
     [] {
       check(
           "exp(x)", [](Number x) { return exp(x); }, [](double x) { return std::exp(x); },
           [](double x) { return std::exp(x); });
     }},
    {"log",
     [] {
       check(
           "log(x)", [](Number x) { return log(x); }, [](double x) { return std::log(x); },
           [](double x) { return 1 / x; }, true);
     }},
    {"tanh",
     [] {
       check(
           "tanh(x)", [](Number x) { return tanh(x); }, [](double x) { return std::tanh(x); },
           [](double x) { return 1 - std::tanh(x) * std::tanh(x); });
     }},
    {"a number used twice adds both derivatives",
     [] {
       check(
           "x + x", [](Number x) { return x + x; }, [](double x) { return 2 * x; },
           [](double) { return 2.0; });
       check(
           "x * x", [](Number x) { return x * x; }, [](double x) { return x * x; },
           [](double x) { return 2 * x; });
     }},
    {"the chain rule",
     [] {
       check(
           "exp(tanh(x))", [](Number x) { return exp(tanh(x)); },
           [](double x) { return std::exp(std::tanh(x)); },
           [](double x) { return std::exp(std::tanh(x)) * (1 - std::tanh(x) * std::tanh(x)); });
     }},
    {"each derivative waits for all that use it",
     [] {  // v is used by w and by y: the sweep must not pass v on before w has been seen
       check(
           "with v = x * x and w = v * v: v * w",
           [](Number x) {
             const Number v = x * x, w = v * v;
             return v * w;
           },
           [](double x) { return std::pow(x, 6); }, [](double x) { return 6 * std::pow(x, 5); });
     }},
    {"the derivative by itself is 1",
     [] {
       announce("x = 3: dx/dx");
       Tape tape;
       const Number x = tape.variable(3);
       expect_equal("dx/dx", gradients(x, {x}).at(0), 1);
     }},
    {"what y does not depend on has derivative 0",
     [] {
       announce("x = 2: the derivatives of x x by z = 5, u = 7 and x x x");
       Tape tape;
       const Number before = tape.variable(7);
       const Number x = tape.variable(2), y = x * x, later = y * x;
       const Number other = tape.variable(5);
       expect_equal("x = 2, z = 5: d(x x)/dz", gradients(y, {other}).at(0), 0);
       expect_equal("x = 2, u = 7, recorded before x: d(x x)/du", gradients(y, {before}).at(0), 0);
       expect_equal("x = 2: d(x x)/d(x x x)", gradients(y, {later}).at(0), 0);
     }},
    {"derivatives of what is in between",
     [] {
       announce("x = 2, v = x x: d(exp v)/dv");
       Tape tape;
       const Number x = tape.variable(2), v = x * x, y = exp(v);
       expect_equal("x = 2, v = x x: d(exp v)/dv", gradients(y, {v}).at(0), std::exp(4.0));
     }},
    {"a second sweep gives the same",
     [] {
       announce("x = 2: d(x x x)/dx, twice");
       Tape tape;
       const Number x = tape.variable(2), y = x * x * x;
       expect_equal("x = 2: d(x x x)/dx, the first time", gradients(y, {x}).at(0), 12);
       expect_equal("x = 2: d(x x x)/dx, the second time", gradients(y, {x}).at(0), 12);
     }},
    {"one tape, two results",
     [] {
       announce("x = 2: the derivatives of x x and of exp(x) on one tape");
       Tape tape;
       const Number x = tape.variable(2), y = x * x, z = exp(x);
       expect_equal("x = 2: d(x x)/dx beside exp(x)", gradients(y, {x}).at(0), 4);
       expect_equal("x = 2: d(exp x)/dx beside x x", gradients(z, {x}).at(0), std::exp(2.0));
     }},
    {"a chain of 100,000 operations",
     [] {
       announce("x = 1: d/dx of x (1 + 1e-5)^100000");
       Tape tape;
       const Number x = tape.variable(1), step = tape.variable(1e-5);
       Number y = x;
       for (int i = 0; i < 100000; ++i) y = y + y * step;
       expect_equal("x = 1: d/dx of x (1 + 1e-5)^100000", gradients(y, {x}).at(0),
                    std::pow(1 + 1e-5, 1e5), 1e-6);
     }},
};

}  // namespace
