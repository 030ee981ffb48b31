// Right values from long double loops and from the closed forms of the gradients.
#include "grader/tensors.h"

using grader::announce;
using grader::example;
using grader::expect;
using grader::expect_equal;
using grader::text;

namespace {

using Values = std::vector<double>;

// log(softmax) row by row, with the greatest taken out and in extended precision.
Values right_logs(const Tensor& x) {
  const int columns = x.shape[1];
  Values logs;
  for (int n = 0; n < x.shape[0]; ++n) {
    const double* row = &x.values[n * columns];
    long double top = row[0], sum = 0;
    for (int c = 0; c < columns; ++c) top = std::max<long double>(top, row[c]);
    for (int c = 0; c < columns; ++c) sum += std::exp(row[c] - top);
    for (int c = 0; c < columns; ++c)
      logs.push_back(static_cast<double>(row[c] - top - std::log(sum)));
  }
  return logs;
}

Values right_softmax(const Tensor& x) {
  Values p = right_logs(x);
  for (double& each : p) each = std::exp(each);
  return p;
}

double right_loss(const Tensor& x, const std::vector<int>& labels) {
  const Values logs = right_logs(x);
  double sum = 0;
  for (int n = 0; n < x.shape[0]; ++n) sum -= logs[n * x.shape[1] + labels[n]];
  return sum / x.shape[0];
}

Values right_slope(const Tensor& x, const std::vector<int>& labels) {
  Values slope = right_softmax(x);
  for (int n = 0; n < x.shape[0]; ++n) slope[n * x.shape[1] + labels[n]] -= 1;
  for (double& each : slope) each /= x.shape[0];
  return slope;
}

using Operation = Variable (*)(const Variable&);

Variable logs_of(const Variable& x) { return log_softmax(x); }
Variable softmax_of(const Variable& x) { return softmax(x); }

// The value of an operation, and that its shape is the input's.
Values values_of(const std::string& name, Operation f, const Tensor& at) {
  announce(name + " of " + text(at));
  Tape tape;
  const Tensor y = value(f(tape.variable(at)));
  expect(y.shape == at.shape,
         name + " of " + text(at) + " has shape " + text(y.shape) + ", must be " + text(at.shape));
  return y.values;
}

void expect_values(const std::string& name, Operation f, const Tensor& at, const Values& right) {
  expect_equal(name + " of " + text(at), values_of(name, f, at), right);
}

void expect_slope_of(const std::string& name, Operation f, const Tensor& at, const Tensor& g,
                     const Values& right) {
  const std::string what =
      "the gradient of sum(" + name + "(x) g) at x = " + text(at) + ", g = " + text(g);
  announce(what);
  Tape tape;
  const Variable x = tape.variable(at);
  expect_equal(what, value(gradients(sum(sum(f(x) * tape.variable(g), 1), 0), {x}).at(0)).values,
               right);
}

struct Found {
  Tensor loss, slope;
};

std::string loss_name(const Tensor& at, const std::vector<int>& labels) {
  return "cross_entropy of " + text(at) + " with labels " + text(labels);
}

Found found_loss(const Tensor& at, const std::vector<int>& labels) {
  announce(loss_name(at, labels));
  Tape tape;
  const Variable x = tape.variable(at), loss = cross_entropy(x, labels);
  return {value(loss), value(gradients(loss, {x}).at(0))};
}

void expect_loss(const Tensor& at, const std::vector<int>& labels) {
  expect_equal(loss_name(at, labels), found_loss(at, labels).loss.values,
               Values{right_loss(at, labels)});
}

void expect_slope(const Tensor& at, const std::vector<int>& labels) {
  expect_equal("the gradient of " + loss_name(at, labels), found_loss(at, labels).slope.values,
               right_slope(at, labels));
}

void expect_refused(const Tensor& at, const std::vector<int>& labels) {
  grader::expect_refused<std::invalid_argument>(loss_name(at, labels), [&] {
    Tape tape;
    cross_entropy(tape.variable(at), labels);
  });
}

const std::vector<int> five_labels{0, 6, 3, 3, 1};

const std::vector<grader::Point> points{
    {"softmax of one row",
     [] {
       expect_values("softmax", softmax_of, {{1, 2}, {0, 0}}, {0.5, 0.5});
       expect_values("softmax", softmax_of, {{1, 2}, {0, std::log(3.0)}}, {0.25, 0.75});
       expect_values("softmax", softmax_of, {{1, 3}, {std::log(2.0), 0, std::log(5.0)}},
                     {0.25, 0.125, 0.625});
     }},
    {"log_softmax of one row",
     [] {
       expect_values("log_softmax", logs_of, {{1, 2}, {0, 0}}, {-std::log(2.0), -std::log(2.0)});
       expect_values("log_softmax", logs_of, {{1, 2}, {0, std::log(3.0)}},
                     {std::log(0.25), std::log(0.75)});
     }},
    {"each row by itself",
     [] {
       for (const Tensor& x : {Tensor{{2, 2}, {0, 0, 0, 1}}, Tensor{{3, 2}, {1, 2, 3, 3, -1, 2}},
                               Tensor{{2, 3}, {1, 2, 3, 3, -1, 2}}, example(5, 7, 3)}) {
         expect_values("log_softmax", logs_of, x, right_logs(x));
         expect_values("softmax", softmax_of, x, right_softmax(x));
       }
     }},
    {"one class has probability 1",
     [] {
       for (const Tensor& x : {Tensor{{1, 1}, {5}}, Tensor{{2, 1}, {-800, 3}}}) {
         const Values zeros(x.values.size(), 0.0);
         expect_values("softmax", softmax_of, x, Values(x.values.size(), 1.0));
         const std::vector<int> labels(x.values.size(), 0);
         expect_equal(loss_name(x, labels), found_loss(x, labels).loss.values, Values{0});
         expect_equal("the gradient of " + loss_name(x, labels), found_loss(x, labels).slope.values,
                      zeros);
       }
     }},
    {"a constant added to a row changes nothing",
     [] {
       for (const double shift : {10.0, -10.0, 1000.0, -1000.0}) {
         const Tensor x{{1, 3}, {1 + shift, 2 + shift, 4 + shift}}, plain{{1, 3}, {1, 2, 4}};
         expect_values("log_softmax", logs_of, x, right_logs(plain));
         expect_values("softmax", softmax_of, x, right_softmax(plain));
       }
     }},
    {"no overflow with logits of 10,000",
     [] {
       expect_values("log_softmax", logs_of, {{1, 2}, {1e4, 0}}, {0, -1e4});
       expect_values("softmax", softmax_of, {{1, 2}, {1e4, 0}}, {1, 0});
       expect_values("softmax", softmax_of, {{1, 3}, {1e4, 1e4, 1e4}}, {1 / 3.0, 1 / 3.0, 1 / 3.0});
     }},
    {"no row of zeros with logits of -10,000",
     [] {
       expect_values("softmax", softmax_of, {{1, 2}, {-1e4, -1e4}}, {0.5, 0.5});
       expect_values("log_softmax", logs_of, {{1, 2}, {-1e4, 0}}, {-1e4, 0});
       expect_values("log_softmax", logs_of, {{1, 2}, {-1e4, -1e4 - 1}},
                     {-std::log1p(std::exp(-1.0)), -1 - std::log1p(std::exp(-1.0))});
     }},
    {"rows of different sizes beside each other",
     [] {
       const Tensor x{{2, 2}, {1e4, 1e4 - 1, -1e4, 1 - 1e4}};
       expect_values("softmax", softmax_of, x, right_softmax(x));
       expect_values("log_softmax", logs_of, x, right_logs(x));
     }},
    {"the logarithm of a probability that is 0 in double precision",
     [] {
       for (const double x : {700.0, 800.0, 5000.0})
         expect_values("log_softmax", logs_of, {{1, 2}, {0, x}}, {-x, 0});
       const Tensor x{{1, 2}, {0, 800}};
       expect_equal(loss_name(x, {0}), found_loss(x, {0}).loss.values, Values{800});
     }},
    {"cross entropy of one row",
     [] {
       const Tensor x{{1, 2}, {0, std::log(3.0)}};
       expect_equal(loss_name(x, {0}), found_loss(x, {0}).loss.values, Values{std::log(4.0)});
       expect_equal(loss_name(x, {1}), found_loss(x, {1}).loss.values, Values{std::log(4 / 3.0)});
     }},
    {"cross entropy is the mean over the rows",
     [] {
       expect_loss({{2, 2}, {0, 0, 0, 1}}, {0, 0});
       expect_loss({{2, 3}, {1, 2, 3, 3, -1, 2}}, {2, 1});
       expect_loss(example(5, 7, 3), five_labels);
     }},
    {"cross entropy has shape (1, 1)",
     [] {
       for (const int rows : {1, 3}) {
         const Tensor x = example(rows, 2, 1);
         const Shape shape = found_loss(x, std::vector<int>(rows, 1)).loss.shape;
         expect(shape == Shape{1, 1},
                "cross_entropy of " + text(x) + " has shape " + text(shape) + ", must be (1, 1)");
       }
     }},
    {"the gradient of cross entropy",
     [] {
       expect_slope({{1, 2}, {0, std::log(3.0)}}, {0});
       expect_slope({{1, 2}, {2, 2}}, {1});
       expect_slope({{2, 3}, {1, 2, 3, 3, -1, 2}}, {2, 1});
       expect_slope(example(5, 7, 3), five_labels);
     }},
    {"the gradient of cross entropy, with logits of 10,000",
     [] {
       expect_slope({{1, 2}, {1e4, 0}}, {0});
       expect_slope({{1, 2}, {1e4, 0}}, {1});
       expect_slope({{2, 2}, {1e4, 1e4 - 1, -1e4, 1 - 1e4}}, {1, 1});
       expect_slope(example(5, 7, 1e4), five_labels);
     }},
    {"the gradients of log_softmax and softmax",
     [] {
       for (const Tensor& x : {Tensor{{1, 2}, {0, std::log(3.0)}}, Tensor{{2, 2}, {1, 1, -2, 0}},
                               example(3, 5, 2), example(2, 3, 1e4)}) {
         const Tensor g = example(x.shape[0], x.shape[1], 1.5);
         const Values p = right_softmax(x);
         Values of_logs, of_softmax;
         for (int n = 0; n < x.shape[0]; ++n) {
           double sum = 0, along = 0;
           const int begin = n * x.shape[1], end = begin + x.shape[1];
           for (int i = begin; i < end; ++i) sum += g.values[i], along += g.values[i] * p[i];
           for (int i = begin; i < end; ++i) {
             of_logs.push_back(g.values[i] - p[i] * sum);
             of_softmax.push_back(p[i] * (g.values[i] - along));
           }
         }
         expect_slope_of("log_softmax", logs_of, x, g, of_logs);
         expect_slope_of("softmax", softmax_of, x, g, of_softmax);
       }
     }},
    {"the gradient of the gradient",
     [] {  // its product with v is p (v - sum(p v)) / N
       for (const Tensor& at : {Tensor{{1, 2}, {0, std::log(3.0)}}, example(2, 4, 2)}) {
         const int rows = at.shape[0], columns = at.shape[1];
         const std::vector<int> labels(rows, 1);
         const Tensor v = example(rows, columns, 1);
         const std::string what =
             "the gradient of sum(v times the gradient of cross_entropy) at x = " + text(at) +
             ", v = " + text(v);
         announce(what);
         Tape tape;
         const Variable x = tape.variable(at);
         const Variable slope = gradients(cross_entropy(x, labels), {x}).at(0);
         const Variable along = sum(sum(slope * tape.variable(v), 1), 0);
         const Values p = right_softmax(at);
         Values right;
         for (int n = 0; n < rows; ++n) {
           double mean = 0;
           for (int i = n * columns; i < (n + 1) * columns; ++i) mean += p[i] * v.values[i];
           for (int i = n * columns; i < (n + 1) * columns; ++i)
             right.push_back(p[i] * (v.values[i] - mean) / rows);
         }
         expect_equal(what, value(gradients(along, {x}).at(0)).values, right);
       }
     }},
    {"a label out of range is refused",
     [] {
       const Tensor x{{2, 2}, {0, 1, 2, 3}};
       for (const auto& labels : {std::vector<int>{2, 0}, {0, -1}, {0, 2}, {-1, 0}})
         expect_refused(x, labels);
     }},
    {"a list with too many or too few labels is refused",
     [] {
       const Tensor x{{2, 2}, {0, 1, 2, 3}};
       for (const auto& labels : {std::vector<int>{0, 1, 1}, {0}, {}}) expect_refused(x, labels);
     }},
};

}  // namespace
