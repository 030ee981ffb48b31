#include "tapegrad/linalg/solve.h"

#include <cmath>
#include <functional>
#include <limits>

#include "linalg/row.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

using In = const std::vector<Tensor>&;

std::vector<LinalgRow> rows() {
  std::vector<LinalgRow> all{
      {"inverse", [](In x) { return inverse(x[0]); }},
      {"logdet", [](In x) { return logdet(x[0]); }},
      {"logdet_one", [](In x) { return logdet(x[0]); }},
      {"lstsq_tall", [](In x) { return lstsq(x[0], x[1]); }},
      {"lstsq_wide", [](In x) { return lstsq(x[0], x[1]); }},
  };
  for (const char* name : {"solve", "solve_broadcast", "solve_vector"})
    all.push_back({name, [](In x) { return solve(x[0], x[1]); }});
  for (const bool upper : {false, true})
    for (const bool transposed : {false, true}) {
      const std::string triangle = upper ? "triangular_upper" : "triangular_lower";
      all.push_back({triangle + (transposed ? "_transposed" : ""), [=](In x) {
                       return triangular_solve(x[0], x[1],
                                               {.upper = upper, .transposed = transposed});
                     }});
    }
  return all;
}

constexpr double precision = sizeof(real) == 8 ? 1e-11 : 1e-3;

double distance(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  return a.size() == 0 ? 0 : max(abs(a - b)).item();
}

}  // namespace

TEST_CASE("solutions agree with PyTorch", "[linalg]") {
  for (const LinalgRow& row : rows()) DYNAMIC_SECTION(row.name) {
      check_golden(row);
    }
}

TEST_CASE("first and second derivatives of solutions agree with differences", "[linalg]") {
  for (const LinalgRow& row : rows()) DYNAMIC_SECTION(row.name) {
      check_derivatives(row);
    }
}

TEST_CASE("solutions solve", "[linalg]") {
  Random random(1);
  const Index n = GENERATE(1, 2, 9, 60, 150);
  INFO("size " << n);
  const Tensor a = random.normal({2, n, n}) / static_cast<double>(n) + eye(n);
  const Tensor b = random.normal({2, n, 3});
  CHECK(distance(matmul(a, solve(a, b)), b) < precision);
  CHECK(distance(matmul(a, inverse(a)), broadcast_to(eye(n), a.shape())) < precision);
  for (const bool upper : {false, true})
    for (const bool transposed : {false, true}) {
      const Tensor triangle = upper ? triu(a) : tril(a);
      const Tensor x = triangular_solve(a, b, {.upper = upper, .transposed = transposed});
      CHECK(distance(matmul(triangle, x, {.a = transposed}), b) < precision);
    }
}

TEST_CASE("a vector on the right gives a vector", "[linalg]") {
  Random random(2);
  const Tensor a = random.normal({4, 3, 3}), b = random.normal({3});
  CHECK(solve(a, b).shape() == Shape{4, 3});
  CHECK(distance(matmul(a, reshape(solve(a, b), {4, 3, 1})),
                 broadcast_to(reshape(b, {3, 1}), {4, 3, 1})) < precision);
  CHECK(triangular_solve(a, b).shape() == Shape{4, 3});
  CHECK(lstsq(random.normal({5, 3}), random.normal({5})).shape() == Shape{3});
}

TEST_CASE("the residual of least squares is orthogonal to the columns", "[linalg]") {
  Random random(3);
  const Tensor a = random.normal({2, 9, 4}), b = random.normal({9, 2});
  CHECK(distance(matmul(a, matmul(a, lstsq(a, b)) - b, {.a = true}), zeros({2, 4, 2})) < precision);
}

TEST_CASE("the least solution of too few equations lies in the span of the rows", "[linalg]") {
  Random random(4);
  const Tensor a = random.normal({2, 4, 9}), b = random.normal({2, 4, 1});
  const Tensor x = lstsq(a, b);
  CHECK(distance(matmul(a, x), b) < precision);
  const Tensor along = matmul(a, solve(matmul(a, a, {.b = true}), b), {.a = true});
  CHECK(distance(x, along) < precision);
}

TEST_CASE("solutions of nothing are nothing", "[linalg]") {
  CHECK(solve(zeros({0, 0}), zeros({0, 2})).shape() == Shape{0, 2});
  CHECK(solve(eye(3), zeros({3, 0})).shape() == Shape{3, 0});
  CHECK(triangular_solve(eye(3), zeros({3, 0})).shape() == Shape{3, 0});
  CHECK(inverse(zeros({0, 2, 2})).shape() == Shape{0, 2, 2});
  CHECK(distance(logdet(zeros({2, 0, 0})), zeros({2})) == 0);
  CHECK(lstsq(zeros({3, 0}), zeros({3, 2})).shape() == Shape{0, 2});
}

TEST_CASE("equations without a solution are refused by the matrix of the batch", "[linalg]") {
  const Tensor a({2, 2, 2}, {1, 0, 0, 1, 1, 2, 2, 4}), b = ones({2, 1});
  CHECK_THROWS_WITH(solve(a, b), Contains("solve: singular: matrix (1) of (2, 2, 2) ["));
  CHECK_THROWS_WITH(inverse(a), Contains("inverse: singular: matrix (1) of (2, 2, 2) ["));
  CHECK_THROWS_WITH(logdet(a), Contains("logdet: singular: matrix (1) of (2, 2, 2) ["));
  CHECK_THROWS_WITH(logdet(Tensor({2, 2}, {0, 1, 1, 0})),
                    Contains("logdet: the determinant is negative: (2, 2) ["));
  CHECK_THROWS_WITH(triangular_solve(Tensor({2, 2}, {1, 5, 5, 0}), b),
                    Contains("triangular_solve: a 0 on the diagonal: (2, 2) ["));
  CHECK_THROWS_WITH(lstsq(a, b),
                    Contains("lstsq: the matrix lacks full rank: matrix (1) of (2, 2, 2) ["));
  CHECK_THROWS_WITH(lstsq(ones({2, 3}), b), Contains("lstsq: the matrix lacks full rank: (2, 3)"));
  const Tensor nan = full({2, 2}, std::nan(""));
  for (const auto& [name, call] : std::vector<std::pair<std::string, std::function<void()>>>{
           {"solve", [&] { solve(nan, b); }},
           {"triangular_solve", [&] { triangular_solve(nan, b); }},
           {"inverse", [&] { inverse(nan); }},
           {"logdet", [&] { logdet(nan); }},
           {"lstsq", [&] { lstsq(nan, b); }}})
    CHECK_THROWS_WITH(call(), Contains(name + ": a NaN or an infinity in the matrix: (2, 2)"));
}

TEST_CASE("a triangular solution reads only the triangle", "[linalg]") {
  const real nan = std::numeric_limits<real>::quiet_NaN();
  const Tensor b({2}, {2, 5}), solution({2}, {1, 1});
  CHECK(distance(triangular_solve(Tensor({2, 2}, {2, nan, 1, 4}), b), solution) == 0);
  const Tensor upper({2, 2}, {1, 1, nan, 5});
  CHECK(distance(triangular_solve(upper, b, {.upper = true}), solution) == 0);
  CHECK_THROWS_AS(triangular_solve(upper, b), ArgumentError);
}

TEST_CASE("shapes that do not fit are refused", "[linalg]") {
  CHECK_THROWS_WITH(solve(eye(3), ones({2, 1})),
                    Contains("solve: needs a right-hand side (m) or (..., m, k) for a matrix (..., "
                             "m, n): (3, 3) and (2, 1)"));
  CHECK_THROWS_AS(solve(eye(3), 1.0), ShapeError);
  CHECK_THROWS_AS(solve(zeros({2, 3}), ones({2, 1})), ShapeError);
  CHECK_THROWS_AS(solve(broadcast_to(eye(3), {2, 3, 3}), ones({5, 3, 1})), ShapeError);
  CHECK_THROWS_AS(inverse(zeros({2, 3})), ShapeError);
  CHECK_THROWS_AS(logdet(ones({3})), ShapeError);
  CHECK_THROWS_AS(lstsq(Tensor(), ones({3})), ShapeError);
  CHECK_THROWS_AS(solve(eye(3), Tensor()), ShapeError);
}
