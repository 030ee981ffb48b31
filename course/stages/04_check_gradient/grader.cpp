// Most functions here are one node, recorded with a value and a gradient of plain numbers. So a
// gradient is right or wrong as the point wants it, whatever the student's operations do.
#include "grader/grader.h"

using grader::announce;
using grader::expect;
using grader::text;

namespace {

using Tensors = std::vector<Tensor>;
using Plain = std::function<double(const Tensors&)>;
using Slope = std::function<double(const Tensors&, int input, int element)>;

const std::vector<double> magnitudes{1, 1e-3, 1e3, 1e-6, 1e6};

// A function as one node. The slopes may be wrong.
Function recorded(const Plain& f, const Slope& slope) {
  return [=](const std::vector<Variable>& inputs) {
    Tensors at;
    for (const Variable& input : inputs) at.push_back(value(input));
    std::vector<Edge> edges;
    for (int k = 0; k < static_cast<int>(inputs.size()); ++k) {
      Tensor slopes = at[k];
      for (int i = 0; i < static_cast<int>(slopes.values.size()); ++i)
        slopes.values[i] = slope(at, k, i);
      edges.push_back(
          {inputs[k], [slopes](const Variable& g) { return g * g.tape->variable(slopes); }});
    }
    return inputs.at(0).tape->record(Tensor{{}, {f(at)}}, edges);
  };
}

using Curve = std::function<double(double)>;

double total(const Tensors& all, const Curve& f) {
  double sum = 0;
  for (const Tensor& each : all)
    for (const double x : each.values) sum += f(x);
  return sum;
}

// The sum of f over all elements of all inputs; `by` is added to one slope, relative to it.
Function total_of(const Curve& f, const Curve& slope, int input = -1, int element = -1,
                  double by = 0) {
  return recorded([=](const Tensors& all) { return total(all, f); },
                  [=](const Tensors& all, int k, int i) {
                    const double right = slope(all[k].values[i]);
                    return k == input && i == element ? right * (1 + by) : right;
                  });
}

double square(double x) { return x * x; }
double twice(double x) { return 2 * x; }

// With digits enough to see what differs.
std::string precise(double x) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.9g", x);
  return buffer;
}

bool near(double found, double right, double tolerance) {
  return std::abs(found - right) <= tolerance * std::abs(right);
}

void expect_passes(const std::string& what, const Function& f, const Tensors& at) {
  announce(what);
  const std::optional<Mismatch> found = check_gradient(f, at);
  expect(!found, !found
                     ? ""
                     : what + ": the gradient is right, and input " + std::to_string(found->input) +
                           ", element " + std::to_string(found->element) + " is reported with " +
                           precise(found->by_tape) + " by tape and " +
                           precise(found->by_difference) + " by differences");
}

Mismatch expect_found(const std::string& what, const Function& f, const Tensors& at) {
  announce(what);
  const std::optional<Mismatch> found = check_gradient(f, at);
  expect(found.has_value(), what + ": the gradient is wrong, and nothing is reported");
  return *found;
}

void expect_place(const std::string& what, const Mismatch& found, int input, int element) {
  expect(found.input == input && found.element == element,
         what + ": reported is input " + std::to_string(found.input) + ", element " +
             std::to_string(found.element) + ", must be input " + std::to_string(input) +
             ", element " + std::to_string(element));
}

struct Example {
  std::string name;
  Curve f, slope;
};

// Functions that change on the scale of their input.
std::vector<Example> examples(double scale) {
  return {{"x^2", square, twice},
          {"x^3", [](double x) { return x * x * x; }, [](double x) { return 3 * x * x; }},
          {"1/x", [](double x) { return 1 / x; }, [](double x) { return -1 / (x * x); }},
          {"log x", [](double x) { return std::log(x); }, [](double x) { return 1 / x; }},
          {"exp(x / " + text(scale) + ")", [=](double x) { return std::exp(x / scale); },
           [=](double x) { return std::exp(x / scale) / scale; }}};
}

const std::vector<grader::Point> points{
    {"a right gradient passes",
     [] {
       for (const double x : {3.0, -2.0, 0.5})
         expect_passes("x^2 at " + text(x), total_of(square, twice), {{{}, {x}}});
       expect_passes("the sum of x^2 at (1, 2, -3)", total_of(square, twice), {{{3}, {1, 2, -3}}});
     }},
    {"a wrong factor is found, with both numbers",
     [] {
       const std::string what = "x^2 at 2 with the gradient 3 x";
       const Mismatch found =
           expect_found(what, total_of(square, [](double x) { return 3 * x; }), {{{}, {2}}});
       expect(near(found.by_tape, 6, 1e-9),
              what + ": by_tape is " + text(found.by_tape) + ", must be 6");
       expect(near(found.by_difference, 4, 1e-4),
              what + ": by_difference is " + text(found.by_difference) + ", must be about 4");
     }},
    {"a wrong sign is found",
     [] {
       for (const double x : {2.0, -3.0})
         expect_found("x^2 at " + text(x) + " with the gradient -2 x",
                      total_of(square, [](double each) { return -2 * each; }), {{{}, {x}}});
     }},
    {"every element is checked",
     [] {
       for (int length = 2; length <= 7; length += 5)
         for (int i = 0; i < length; ++i) {
           Tensor at{{length}, {}};
           for (int j = 0; j < length; ++j) at.values.push_back(0.5 * j - 1.25);
           const std::string what = "the sum of x^2 over " + std::to_string(length) +
                                    " elements, slope " + std::to_string(i) +
                                    " of which is 1 % too large";
           expect_place(what, expect_found(what, total_of(square, twice, 0, i, 0.01), {at}), 0, i);
         }
     }},
    {"every input is checked",
     [] {
       const Tensors at{{{}, {3}}, {{1}, {-1}}, {{2, 2}, {1, 2, 3, 4}}};
       for (int k = 0; k < 3; ++k) {
         const std::string what =
             "the sum of x^2 over inputs of 1, 1 and 4 elements, one slope of "
             "input " +
             std::to_string(k) + " is 1 % too large";
         const int last = k == 2 ? 3 : 0;
         expect_place(what, expect_found(what, total_of(square, twice, k, last, 0.01), at), k,
                      last);
       }
     }},
    {"of several mismatches the first is reported",
     [] {
       const Tensors at{{{2}, {1, 2}}, {{3}, {3, 4, 5}}};
       const auto wrong_from = [](int input, int element) {
         return recorded([](const Tensors& all) { return total(all, square); },
                         [=](const Tensors& all, int k, int i) {
                           const bool wrong = k > input || (k == input && i >= element);
                           return 2 * all[k].values[i] + (wrong ? 1 : 0);
                         });
       };
       const std::string what = "the sum of x^2 over inputs of 2 and 3 elements";
       expect_place(what + ", the last two slopes wrong", expect_found(what, wrong_from(1, 1), at),
                    1, 1);
       expect_place(what + ", all slopes wrong but the first",
                    expect_found(what, wrong_from(0, 1), at), 0, 1);
     }},
    {"the inputs keep their shapes",
     [] {
       const Function f = [](const std::vector<Variable>& in) {
         return sum(sum(in[0] * in[1], 1), 0) * in[2];
       };
       expect_passes("the sum of x y times z, x (2, 1), y (1, 3) and z ()", f,
                     {{{2, 1}, {2, -1}}, {{1, 3}, {1, 2, 5}}, {{}, {0.5}}});
     }},
    {"right gradients pass, from 1e-6 to 1e6",
     [] {
       for (const double scale : magnitudes)
         for (const Example& example : examples(scale))
           for (const double x : {0.7, 1.0, 1.3})
             expect_passes(example.name + " at " + text(x * scale),
                           total_of(example.f, example.slope), {{{1}, {x * scale}}});
     }},
    {"errors of 1e-3 are found, from 1e-6 to 1e6",
     [] {
       for (const double scale : magnitudes)
         for (const Example& example : examples(scale))
           for (const double by : {0.001, -0.001}) {
             const std::string what =
                 example.name + " at " + text(1.3 * scale) + ", its gradient times " + text(1 + by);
             const Mismatch found = expect_found(what, total_of(example.f, example.slope, 0, 0, by),
                                                 {{{1}, {1.3 * scale}}});
             const double right = example.slope(1.3 * scale);
             expect(near(found.by_difference, right, 2e-4), what + ": by_difference is " +
                                                                text(found.by_difference) +
                                                                ", must be about " + text(right));
           }
     }},
    {"a missing gradient is found, from 1e-6 to 1e6",
     [] {
       for (const double scale : magnitudes)
         expect_found("x^2 at " + text(scale) + " with the gradient 0",
                      total_of(square, [](double) { return 0; }), {{{}, {scale}}});
     }},
    {"a gradient where there is none is found",
     [] {
       expect_found("a constant 5 at x = 2 with the gradient 0.01",
                    total_of([](double) { return 5; }, [](double) { return 0.01; }), {{{}, {2}}});
     }},
    {"an element that is 0",
     [] {
       const Curve exponential = [](double x) { return std::exp(x); };
       expect_passes("exp x at 0", total_of(exponential, exponential), {{{}, {0}}});
       expect_passes("the sum of exp x at (1, 0, -1)", total_of(exponential, exponential),
                     {{{3}, {1, 0, -1}}});
       const Mismatch found =
           expect_found("exp x at 0 with the gradient 1.01",
                        total_of(exponential, exponential, 0, 0, 0.01), {{{}, {0}}});
       expect(near(found.by_difference, 1, 1e-4),
              "exp x at 0: by_difference is " + text(found.by_difference) + ", must be about 1");
     }},
    {"at a minimum the differences are central",
     [] {
       expect_passes("x^2 at 0", total_of(square, twice), {{{}, {0}}});
       expect_passes("exp x + exp(-x) at 0",
                     total_of([](double x) { return std::exp(x) + std::exp(-x); },
                              [](double x) { return std::exp(x) - std::exp(-x); }),
                     {{{}, {0}}});
     }},
    {"a gradient of 0, from 1e-6 to 1e6, where the difference is nothing but rounding",
     [] {  // the sum of a softmax
       for (const double scale : magnitudes) {
         const Plain one = [=](const Tensors& all) {
           const double a = std::exp(all[0].values[0] / scale),
                        b = std::exp(all[0].values[1] / scale),
                        c = std::exp(all[0].values[2] / scale), all_three = a + b + c;
           return a / all_three + b / all_three + c / all_three;
         };
         for (int k = 1; k <= 20; ++k) {
           const Tensor at{{3}, {0.1 * k * scale, 0.7 * scale, (1.9 - 0.07 * k) * scale}};
           expect_passes("the sum of a softmax at " + text(at.values),
                         recorded(one, [](const Tensors&, int, int) { return 0; }), {at});
         }
       }
     }},
    {"a gradient that is not a number is found",
     [] {
       expect_found("x^2 at 2 with the gradient nan",
                    total_of(square, [](double) { return std::nan(""); }), {{{}, {2}}});
     }},
    {"a gradient that is infinite is found",
     [] {
       for (const double sign : {1.0, -1.0})
         expect_found("x^2 at 2 with the gradient " + text(sign * INFINITY),
                      total_of(square, [=](double) { return sign * INFINITY; }), {{{}, {2}}});
     }},
    {"one element is moved at a time",
     [] {
       const auto product = [](const Tensors& all, int without) {
         double result = 1;
         for (int i = 0; i < static_cast<int>(all[0].values.size()); ++i)
           if (i != without) result *= all[0].values[i];
         return result;
       };
       const Function f = recorded([=](const Tensors& all) { return product(all, -1); },
                                   [=](const Tensors& all, int, int i) { return product(all, i); });
       for (const int length : {2, 300}) {
         Tensor at{{length}, {}};
         for (int i = 0; i < length; ++i) at.values.push_back(i % 2 == 0 ? 1.25 : 0.8);
         expect_passes("the product of " + std::to_string(length) + " elements", f, {at});
       }
     }},
    {"a second check begins anew",
     [] {
       expect_passes("x^2 at 3", total_of(square, twice), {{{}, {3}}});
       expect_passes("x^2 at 2, after x^2 at 3", total_of(square, twice), {{{}, {2}}});
       expect_found("x^2 at 2 with a gradient 1 % too large, after right ones",
                    total_of(square, twice, 0, 0, 0.01), {{{}, {2}}});
       expect_passes("the sum of x^2 at (1, 2), after a wrong one", total_of(square, twice),
                     {{{2}, {1, 2}}});
     }},
};

}  // namespace
