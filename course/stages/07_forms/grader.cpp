// Right values from long double loops, gradients and measures from the closed forms
// dl/dx = (g - [mean(g)] - [z mean(g z)]) / s, where a term is left out if its statistic is
// detached.
#include "grader/tensors.h"

using grader::announce;
using grader::example;
using grader::expect;
using grader::expect_equal;
using grader::text;

namespace {

using Values = std::vector<double>;

struct Form {
  bool detach_mean, detach_deviation;
};

const std::vector<Form> forms{{false, false}, {true, false}, {false, true}, {true, true}};

std::string name_of(Form form) {
  if (form.detach_mean && form.detach_deviation) return "both detached";
  if (form.detach_mean) return "the mean detached";
  if (form.detach_deviation) return "the deviation detached";
  return "nothing detached";
}

// What the closed forms say of one row.
struct Right {
  Values z, slope;
  double mean, along_z, size;  // of the slope
  double s, mean_g, p, variance_of_g;
};

std::vector<Right> right_rows(const Tensor& x, const Tensor& g, Form form, double epsilon) {
  const int columns = x.shape[1];
  std::vector<Right> rows;
  for (int n = 0; n < x.shape[0]; ++n) {
    const double *row = &x.values[n * columns], *arriving = &g.values[n * columns];
    const long double length = columns;
    long double mu = 0, v = 0, mean_g = 0, p = 0, square = 0;
    for (int i = 0; i < columns; ++i) mu += row[i] / length;
    for (int i = 0; i < columns; ++i) v += (row[i] - mu) * (row[i] - mu) / length;
    const long double s = std::sqrt(v + epsilon);
    for (int i = 0; i < columns; ++i) {
      mean_g += arriving[i] / length;
      square += static_cast<long double>(arriving[i]) * arriving[i] / length;
      p += arriving[i] * (row[i] - mu) / s / length;
    }
    Right right;
    long double mean = 0, along_z = 0, size = 0;
    for (int i = 0; i < columns; ++i) {
      const long double z = (row[i] - mu) / s;
      const long double slope =
          (arriving[i] - (form.detach_mean ? 0 : mean_g) - (form.detach_deviation ? 0 : z * p)) / s;
      right.z.push_back(static_cast<double>(z));
      right.slope.push_back(static_cast<double>(slope));
      mean += slope / length;
      along_z += slope * z / length;
      size += slope * slope / length;
    }
    right.mean = static_cast<double>(mean);
    right.along_z = static_cast<double>(along_z);
    right.size = static_cast<double>(std::sqrt(size));
    right.s = static_cast<double>(s);
    right.mean_g = static_cast<double>(mean_g);
    right.p = static_cast<double>(p);
    right.variance_of_g = static_cast<double>(square - mean_g * mean_g);
    rows.push_back(right);
  }
  return rows;
}

Values joined(const std::vector<Right>& rows, Values Right::*part) {
  Values all;
  for (const Right& row : rows) all.insert(all.end(), (row.*part).begin(), (row.*part).end());
  return all;
}

std::string at_name(const Tensor& x, const Tensor& g, double epsilon) {
  return "at x = " + text(x) + ", g = " + text(g) + ", epsilon = " + text(epsilon);
}

void expect_slope(const Tensor& at, const Tensor& g, Form form, double epsilon) {
  const std::string what =
      name_of(form) + ": the gradient of sum(normalize(x) g) " + at_name(at, g, epsilon);
  announce(what);
  Tape tape;
  const Variable x = tape.variable(at);
  const Variable z = normalize(x, form.detach_mean, form.detach_deviation, epsilon);
  const Variable loss = sum(sum(z * tape.variable(g), 1), 0);
  expect_equal(what, value(gradients(loss, {x}).at(0)).values,
               joined(right_rows(at, g, form, epsilon), &Right::slope));
}

// The gradient of one form, from a row of two numbers to several rows.
void check_form(Form form) {
  expect_slope({{1, 2}, {1, 3}}, {{1, 2}, {1, 0}}, form, 0);
  expect_slope({{1, 4}, {2, 4, 4, 6}}, {{1, 4}, {1, 0, 0, 0}}, form, 0);
  expect_slope({{1, 2}, {1, 3}}, {{1, 2}, {1, 0}}, form, 3);
  expect_slope({{2, 3}, {1, 2, 6, -1, 0, 4}}, {{2, 3}, {1, 0, 2, -1, 1, 0.5}}, form, 0);
  expect_slope({{2, 2}, {3, 3, 0, 0}}, {{2, 2}, {1, 0, 1, 1}}, form, 1e-5);
  expect_slope({{2, 1}, {3, -4}}, {{2, 1}, {1, -2}}, form, 1e-5);
  expect_slope(example(5, 7), example(5, 7, 2, 2), form, 0.1);
}

std::vector<Row> rows_of(const Tensor& x, const Tensor& g, Form form, double epsilon = 0) {
  announce(name_of(form) + ": measure " + at_name(x, g, epsilon));
  const std::vector<Row> rows = measure(x, g, form.detach_mean, form.detach_deviation, epsilon);
  expect(static_cast<int>(rows.size()) == x.shape[0],
         "measure of matrices of shape " + text(x.shape) + " gives " + std::to_string(rows.size()) +
             " rows, must be " + std::to_string(x.shape[0]));
  return rows;
}

const Tensor four{{1, 4}, {2, 4, 4, 6}}, first{{1, 4}, {1, 0, 0, 0}};
const double root = std::sqrt(2.0);

// One of the measures of the example that one can do by hand.
void check_by_hand(const std::string& name, double Row::*part, const Values& right) {
  for (std::size_t i = 0; i < forms.size(); ++i)
    expect_equal(name_of(forms[i]) + ": " + name + " " + at_name(four, first, 0),
                 rows_of(four, first, forms[i])[0].*part, right[i]);
}

// Gives each row of a larger example, with what is right of it.
void each_row(Form form, double epsilon,
              const std::function<void(const std::string& where, Row, const Right&)>& look) {
  const Tensor x = example(6, 8, 2), g = example(6, 8, 1, 3);
  const std::vector<Row> found = rows_of(x, g, form, epsilon);
  const std::vector<Right> right = right_rows(x, g, form, epsilon);
  for (std::size_t n = 0; n < found.size(); ++n)
    look(name_of(form) + ", row " + std::to_string(n) + " of 6 rows of 8 numbers, epsilon " +
             text(epsilon) + ": ",
         found[n], right[n]);
}

const std::vector<grader::Point> points{
    {"all four forms have the value of layer normalization",
     [] {
       for (const Form form : forms)
         for (const Tensor& x :
              {Tensor{{1, 2}, {1, 3}}, four, Tensor{{2, 3}, {1, 2, 6, -1, 0, 4}}, example(5, 7)})
           for (const double epsilon : {0.0, 3.0}) {
             const std::string what =
                 name_of(form) + ": normalize of " + text(x) + " with epsilon " + text(epsilon);
             announce(what);
             Tape tape;
             const Tensor z = value(
                 normalize(tape.variable(x), form.detach_mean, form.detach_deviation, epsilon));
             expect(z.shape == x.shape,
                    what + " has shape " + text(z.shape) + ", must be " + text(x.shape));
             expect_equal(what, z.values, joined(right_rows(x, x, form, epsilon), &Right::z));
           }
     }},
    {"epsilon of normalize is 1e-5 if nothing is said",
     [] {
       const Tensor x{{1, 2}, {0.001, 0.003}};
       announce("normalize of " + text(x));
       Tape tape;
       expect_equal("normalize of " + text(x), value(normalize(tape.variable(x), 0, 0)).values,
                    right_rows(x, x, {}, 1e-5)[0].z);
     }},
    {"the gradient with nothing detached",
     [] {
       check_form({false, false});
     }},
    {"the gradient with the mean detached",
     [] {
       check_form({true, false});
     }},
    {"the gradient with the deviation detached",
     [] {
       check_form({false, true});
     }},
    {"the gradient with both detached",
     [] {
       check_form({true, true});
     }},
    {"the mean of a row of dl/dx",
     [] {
       check_by_hand("the mean", &Row::mean, {0, 0.25 / root, 0, 0.25 / root});
     }},
    {"the mean product with z",
     [] {
       check_by_hand("along_z", &Row::along_z, {0, 0, -0.25, -0.25});
     }},
    {"the size of a row of dl/dx",
     [] {
       check_by_hand("the size", &Row::size,
                     {0.25 / root, 0.25, std::sqrt(0.1875) / root, 0.5 / root});
     }},
    {"each row is measured by itself, in order",
     [] {
       const Tensor x{{3, 2}, {1, 3, 0, -8, 10, 50}}, g{{3, 2}, {1, 0, 4, -4, 0, 0}};
       Values means, sizes;
       for (const Row& row : rows_of(x, g, {true, true})) {
         means.push_back(row.mean);
         sizes.push_back(row.size);
       }
       expect_equal("both detached: the means " + at_name(x, g, 0), means, Values{0.5, 0, 0});
       expect_equal("both detached: the sizes " + at_name(x, g, 0), sizes, Values{1 / root, 1, 0});
     }},
    {"Theorem 1: with the mean attached, the gradient has mean 0",
     [] {
       for (const Form form : {forms[0], forms[2]})
         each_row(form, 0, [](const std::string& where, Row found, const Right&) {
           expect_equal(where + "the mean", found.mean, 0);
         });
     }},
    {"Theorem 1: with the mean detached, the gradient has mean mean(g) / s",
     [] {
       for (const Form form : {forms[1], forms[3]})
         each_row(form, 0, [](const std::string& where, Row found, const Right& right) {
           expect_equal(where + "the mean", found.mean, right.mean_g / right.s);
         });
     }},
    {"with the deviation attached, nothing of the gradient is along z",
     [] {
       for (const Form form : {forms[0], forms[1]})
         each_row(form, 0, [](const std::string& where, Row found, const Right&) {
           expect_equal(where + "along_z", found.along_z, 0);
         });
     }},
    {"with the deviation detached, what is along z stays: mean(g z) / s",
     [] {
       for (const Form form : {forms[2], forms[3]})
         each_row(form, 0, [](const std::string& where, Row found, const Right& right) {
           expect_equal(where + "along_z", found.along_z, right.p / right.s);
         });
     }},
    {"Theorem 1: the variance of the gradient, at most var(g) / s^2",
     [] {
       for (const Form form : forms)
         each_row(form, 0, [=](const std::string& where, Row found, const Right& right) {
           const double variance = found.size * found.size - found.mean * found.mean;
           const double removed = form.detach_deviation ? 0 : right.p * right.p;
           expect_equal(where + "size^2 - mean^2", variance,
                        (right.variance_of_g - removed) / (right.s * right.s));
         });
     }},
    {"Pythagoras: what the mean and the deviation take away, and what is left",
     [] {
       const Tensor x = example(3, 5), g = example(3, 5, 2, 5);
       const std::vector<Row> left = rows_of(x, g, forms[0]), all = rows_of(x, g, forms[3]);
       for (std::size_t n = 0; n < all.size(); ++n)
         expect_equal("row " + std::to_string(n) +
                          " of 3 rows of 5 numbers: size^2 with nothing "
                          "detached, plus mean^2 and along_z^2 with both,",
                      left[n].size * left[n].size + all[n].mean * all[n].mean +
                          all[n].along_z * all[n].along_z,
                      all[n].size * all[n].size);
     }},
    {"the measures with an epsilon",
     [] {
       for (const Form form : forms)
         each_row(form, 0.5, [](const std::string& where, Row found, const Right& right) {
           expect_equal(where + "the mean", found.mean, right.mean);
           expect_equal(where + "along_z", found.along_z, right.along_z);
           expect_equal(where + "the size", found.size, right.size);
         });
     }},
    {"large and small rows",
     [] {
       const Tensor x{{2, 4}, {2e6, 4e6, 4e6, 6e6, 2e-6, 4e-6, 4e-6, 6e-6}};
       const Tensor g{{2, 4}, {1e6, 0, 0, 0, 1e-6, 0, 0, 0}};
       for (const Form form : forms) {
         const std::vector<Row> found = rows_of(x, g, form);
         const Right right = right_rows(four, first, form, 0)[0];
         for (std::size_t n = 0; n < found.size(); ++n) {
           const std::string where =
               name_of(form) + ", row " + std::to_string(n) + " " + at_name(x, g, 0) + ": ";
           expect_equal(where + "the mean", found[n].mean, right.mean);
           expect_equal(where + "along_z", found[n].along_z, right.along_z);
           expect_equal(where + "the size", found[n].size, right.size);
         }
       }
     }},
};

}  // namespace
