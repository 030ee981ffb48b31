// Right values are written out, or come from loops over plain numbers.
#include "grader/tensors.h"

using grader::announce;
using grader::expect;
using grader::expect_equal;
using grader::text;

namespace {

// Broadcasting gives the same either way around.
void check_broadcast(const Shape& a, const Shape& b, const Shape& right) {
  announce("broadcast of " + text(a) + " and " + text(b));
  expect_equal("broadcast of " + text(a) + " and " + text(b), broadcast(a, b), right);
  expect_equal("broadcast of " + text(b) + " and " + text(a), broadcast(b, a), right);
}

void check_broadcast_to(const Tensor& x, const Tensor& right) {
  announce(text(x) + " to " + text(right.shape));
  expect_equal(text(x) + " to " + text(right.shape), broadcast_to(x, right.shape), right);
}

using Operation = Tensor (*)(const Tensor&, const Tensor&);
using Plain = double (*)(double, double);

struct Sign {
  std::string name;
  Operation tensors;
  Plain numbers;
};

const Sign plus{"+", [](const Tensor& a, const Tensor& b) { return a + b; },
                [](double a, double b) { return a + b; }};
const Sign minus{"-", [](const Tensor& a, const Tensor& b) { return a - b; },
                 [](double a, double b) { return a - b; }};
const Sign times{"*", [](const Tensor& a, const Tensor& b) { return a * b; },
                 [](double a, double b) { return a * b; }};
const Sign over{"/", [](const Tensor& a, const Tensor& b) { return a / b; },
                [](double a, double b) { return a / b; }};

// Element i of the right result is made of element of_a[i] of a and of_b[i] of b.
void check_operation(const Sign& sign, const Tensor& a, const Tensor& b, const Shape& shape,
                     const std::vector<int>& of_a, const std::vector<int>& of_b) {
  Tensor right{shape, {}};
  for (std::size_t i = 0; i < of_a.size(); ++i)
    right.values.push_back(sign.numbers(a.values[of_a[i]], b.values[of_b[i]]));
  const std::string what = text(a) + " " + sign.name + " " + text(b);
  announce(what);
  expect_equal(what, sign.tensors(a, b), right);
}

void check_alike(const Sign& sign) {
  check_operation(sign, {{}, {5}}, {{}, {2}}, {}, {0}, {0});
  check_operation(sign, {{1}, {-3}}, {{1}, {4}}, {1}, {0}, {0});
  check_operation(sign, {{3}, {1, -2, 3}}, {{3}, {4, 5, -0.5}}, {3}, {0, 1, 2}, {0, 1, 2});
  check_operation(sign, {{2, 2}, {1, 2, 3, 4}}, {{2, 2}, {8, 7, 6, 5}}, {2, 2}, {0, 1, 2, 3},
                  {0, 1, 2, 3});
  check_operation(sign, {{2}, {1e200, 1e-200}}, {{2}, {1e-200, 1e200}}, {2}, {0, 1}, {0, 1});
}

void expect_no_sum(const Tensor& x, int axis) {
  grader::expect_refused<std::invalid_argument>(
      "the sum of " + text(x) + " along axis " + std::to_string(axis), [&] { sum(x, axis); });
}

void expect_no_broadcast(const Shape& a, const Shape& b) {
  grader::expect_refused<std::invalid_argument>("broadcast of " + text(a) + " and " + text(b),
                                                [&] { broadcast(a, b); });
}

void expect_no_broadcast_to(const Tensor& x, const Shape& shape) {
  grader::expect_refused<std::invalid_argument>(text(x) + " to " + text(shape),
                                                [&] { broadcast_to(x, shape); });
}

void check_sum(const Tensor& x, int axis, const Tensor& right) {
  const std::string what = "the sum of " + text(x) + " along axis " + std::to_string(axis);
  announce(what);
  expect_equal(what, sum(x, axis), right);
}

void check_reshape(const Tensor& x, const Shape& shape, const Tensor& right) {
  announce(text(x) + " as " + text(shape));
  expect_equal(text(x) + " as " + text(shape), reshape(x, shape), right);
}

void check_filled(const Shape& shape, double x, const Tensor& right) {
  const std::string what = "filled with " + text(x) + ", of shape " + text(shape);
  announce(what);
  expect_equal(what, filled(shape, x), right);
}

template <class F>
void check_map(const std::string& name, const Tensor& x, const F& f, const Tensor& right) {
  announce(name + " " + text(x));
  expect_equal(name + " " + text(x), map(x, f), right);
}

void check_transpose(const Tensor& x, const Tensor& right) {
  announce("the transpose of " + text(x));
  expect_equal("the transpose of " + text(x), transpose(x), right);
}

const Tensor matrix{{2, 3}, {1, 2, 3, 4, 5, 6}};
const Tensor block{{2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};

const std::vector<grader::Point> points{
    {"the size of a shape",
     [] {
       const std::vector<std::pair<Shape, int>> right{
           {{}, 1}, {{1}, 1}, {{3}, 3}, {{2, 3}, 6}, {{2, 1, 4}, 8}};
       for (const auto& [shape, numbers] : right) {
         announce("the size of " + text(shape));
         expect_equal("the size of " + text(shape), size(shape), numbers);
       }
     }},
    {"filled tensors",
     [] {
       check_filled({}, 7, {{}, {7}});
       check_filled({3}, -1, {{3}, {-1, -1, -1}});
       check_filled({1, 2}, 0.5, {{1, 2}, {0.5, 0.5}});
     }},
    {"an axis of length 1 takes the length of the other",
     [] {
       check_broadcast({1}, {1}, {1});
       check_broadcast({3}, {3}, {3});
       check_broadcast({1}, {3}, {3});
       check_broadcast({2, 3}, {2, 1}, {2, 3});
       check_broadcast({2, 1}, {1, 3}, {2, 3});
       check_broadcast({1, 4, 1}, {5, 1, 2}, {5, 4, 2});
     }},
    {"a missing axis counts as 1, and axes are aligned at the end",
     [] {
       check_broadcast({}, {}, {});
       check_broadcast({}, {3}, {3});
       check_broadcast({1}, {1, 1}, {1, 1});
       check_broadcast({3}, {2, 3}, {2, 3});
       check_broadcast({2}, {3, 1}, {3, 2});
       check_broadcast({2, 1}, {4, 1, 3}, {4, 2, 3});
     }},
    {"shapes that do not fit are refused",
     [] {
       expect_no_broadcast({2}, {3});
       expect_no_broadcast({2, 3}, {2});
       expect_no_broadcast({2, 3}, {3, 2});
       expect_no_broadcast({4}, {2});
       expect_no_broadcast({2, 1, 3}, {2, 2});
       grader::expect_refused<std::invalid_argument>("(2) {1, 2} + (3) {1, 2, 3}", [] {
         Tensor{{2}, {1, 2}} + Tensor{{3}, {1, 2, 3}};
       });
     }},
    {"broadcast_to repeats along axes of length 1",
     [] {
       check_broadcast_to({{1}, {5}}, {{1}, {5}});
       check_broadcast_to(matrix, matrix);
       check_broadcast_to({{1}, {5}}, {{3}, {5, 5, 5}});
       check_broadcast_to({{1, 3}, {1, 2, 3}}, {{2, 3}, {1, 2, 3, 1, 2, 3}});
       check_broadcast_to({{2, 1}, {1, 2}}, {{2, 3}, {1, 1, 1, 2, 2, 2}});
       check_broadcast_to({{2, 1, 2}, {1, 2, 3, 4}},
                          {{2, 3, 2}, {1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4}});
     }},
    {"broadcast_to adds axes in front",
     [] {
       check_broadcast_to({{}, {5}}, {{}, {5}});
       check_broadcast_to({{}, {5}}, {{1}, {5}});
       check_broadcast_to({{}, {5}}, {{2, 2}, {5, 5, 5, 5}});
       check_broadcast_to({{2}, {1, 2}}, {{2, 2}, {1, 2, 1, 2}});
       check_broadcast_to({{2, 1}, {1, 2}}, {{2, 2, 2}, {1, 1, 2, 2, 1, 1, 2, 2}});
     }},
    {"broadcast_to never leaves anything out",
     [] {
       expect_no_broadcast_to({{2}, {1, 2}}, {3});
       expect_no_broadcast_to({{2}, {1, 2}}, {1});
       expect_no_broadcast_to({{2}, {1, 2}}, {4});
       expect_no_broadcast_to({{1}, {1}}, {});
       expect_no_broadcast_to({{1, 2}, {1, 2}}, {2});
       expect_no_broadcast_to({{2}, {1, 2}}, {2, 1});
     }},
    {"sums and differences, element by element",
     [] {
       check_alike(plus);
       check_alike(minus);
     }},
    {"products and quotients, element by element",
     [] {
       check_alike(times);
       check_alike(over);
       check_operation(over, {{3}, {1, -1, 0}}, {{3}, {0, 0, 0}}, {3}, {0, 1, 2}, {0, 1, 2});
     }},
    {"operations broadcast both operands",
     [] {
       for (const Sign& sign : {plus, minus, times, over}) {
         check_operation(sign, {{2}, {1, 2}}, {{}, {4}}, {2}, {0, 1}, {0, 0});
         check_operation(sign, {{}, {4}}, {{2}, {1, 2}}, {2}, {0, 0}, {0, 1});
         check_operation(sign, matrix, {{3}, {7, 8, 9}}, {2, 3}, {0, 1, 2, 3, 4, 5},
                         {0, 1, 2, 0, 1, 2});
         check_operation(sign, {{2, 1}, {2, 3}}, {{3}, {7, 8, 9}}, {2, 3}, {0, 0, 0, 1, 1, 1},
                         {0, 1, 2, 0, 1, 2});
       }
     }},
    {"map",
     [] {
       const auto square = [](double x) { return x * x; };
       check_map("the square of", {{}, {3}}, square, {{}, {9}});
       check_map("the square of", matrix, square, {{2, 3}, {1, 4, 9, 16, 25, 36}});
       const double shift = 10;
       check_map("10 plus", {{2}, {1, 2}}, [=](double x) { return x + shift; }, {{2}, {11, 12}});
     }},
    {"a sum along an axis keeps the axis, with length 1",
     [] {
       check_sum({{1}, {4}}, 0, {{1}, {4}});
       check_sum({{3}, {1, 2, 4}}, 0, {{1}, {7}});
       check_sum(matrix, 0, {{1, 3}, {5, 7, 9}});
       check_sum(matrix, 1, {{2, 1}, {6, 15}});
       check_sum({{2, 1}, {3, 4}}, 1, {{2, 1}, {3, 4}});
       check_sum(block, 0, {{1, 3, 2}, {8, 10, 12, 14, 16, 18}});
       check_sum(block, 1, {{2, 1, 2}, {9, 12, 27, 30}});
       check_sum(block, 2, {{2, 3, 1}, {3, 7, 11, 15, 19, 23}});
     }},
    {"a sum along an axis that is not there is refused",
     [] {
       expect_no_sum({{}, {5}}, 0);
       expect_no_sum({{2}, {1, 2}}, 1);
       expect_no_sum({{2}, {1, 2}}, -1);
       expect_no_sum(matrix, 2);
     }},
    {"reshape keeps the order",
     [] {
       check_reshape({{}, {5}}, {1, 1}, {{1, 1}, {5}});
       check_reshape({{1}, {5}}, {}, {{}, {5}});
       check_reshape(matrix, {3, 2}, {{3, 2}, matrix.values});
       check_reshape(matrix, {6}, {{6}, matrix.values});
       for (const Shape& shape : {Shape{4}, Shape{7}, Shape{}, Shape{2, 3, 2}})
         grader::expect_refused<std::invalid_argument>(text(matrix) + " as " + text(shape),
                                                       [&] { reshape(matrix, shape); });
     }},
    {"transpose",
     [] {
       check_transpose({{1, 1}, {5}}, {{1, 1}, {5}});
       check_transpose({{1, 3}, {1, 2, 3}}, {{3, 1}, {1, 2, 3}});
       check_transpose({{2, 2}, {1, 2, 3, 4}}, {{2, 2}, {1, 3, 2, 4}});
       check_transpose(matrix, {{3, 2}, {1, 4, 2, 5, 3, 6}});
       check_transpose({{3, 2}, {1, 4, 2, 5, 3, 6}}, matrix);
       for (const Tensor& x : {Tensor{{}, {5}}, Tensor{{2}, {1, 2}}, block})
         grader::expect_refused<std::invalid_argument>("the transpose of " + text(x),
                                                       [&] { transpose(x); });
     }},
    {"five axes",
     [] {
       const Tensor a{{2, 1, 3, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
       const Tensor b{{2, 1, 4, 1}, {10, 20, 30, 40, 50, 60, 70, 80}};
       Tensor right{{2, 2, 3, 4, 2}, {}};
       for (int i = 0; i < 2; ++i)
         for (int j = 0; j < 2; ++j)
           for (int k = 0; k < 3; ++k)
             for (int l = 0; l < 4; ++l)
               for (int m = 0; m < 2; ++m)
                 right.values.push_back(a.values[6 * i + 2 * k + m] + b.values[4 * j + l]);
       announce(text(a) + " + " + text(b));
       expect_equal(text(a) + " + " + text(b), a + b, right);
     }},
    {"300,000 numbers",
     [] {
       Tensor x{{500, 600}, {}}, row{{600}, {}};
       for (int i = 0; i < 500; ++i)
         for (int j = 0; j < 600; ++j) x.values.push_back(i);
       for (int j = 0; j < 600; ++j) row.values.push_back(1000.0 * j);
       announce("x of shape (500, 600) plus a row of 600, and the sum of all");
       const Tensor all = x + row;
       expect(all.values.size() == 300000, "x of shape (500, 600) plus a row of 600 has " +
                                               std::to_string(all.values.size()) + " values");
       expect_equal("with x_ij = i + 1000 j of shape (500, 600): x_(499, 599)", all.values.back(),
                    599499);
       const Tensor total = sum(sum(all, 1), 0);
       expect_equal("with x_ij = i + 1000 j of shape (500, 600): the sum of all", total,
                    {{1, 1}, {600.0 * 499 * 500 / 2 + 1000.0 * 500 * 599 * 600 / 2}});
     }},
};

}  // namespace
