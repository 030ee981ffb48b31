#include "tapegrad/linalg/decompose.h"

#include <cmath>

#include "linalg/row.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"
#include "tapegrad/core/range.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/order.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

using In = const std::vector<Tensor>&;

Tensor all_of(const Qr& y) { return joined({y.q, y.r}); }
Tensor all_of(const Eigh& y) { return joined({y.values, y.vectors}); }
Tensor all_of(const Svd& y) { return joined({y.u, y.s, y.vt}); }

std::vector<LinalgRow> rows() {
  std::vector<LinalgRow> all{
      {"cholesky", [](In x) { return cholesky(x[0]); }},
      {"eigh_values", [](In x) { return eigh(x[0]).values; }},
      {"svd_values", [](In x) { return svd(x[0]).s; }},
  };
  for (const char* name : {"qr_tall", "qr_square", "qr_wide", "qr_batched"})
    all.push_back({name, [](In x) { return all_of(qr(x[0])); }});
  for (const char* name : {"eigh", "eigh_batched"})
    all.push_back({name, [](In x) { return all_of(eigh(x[0])); }});
  for (const char* name : {"svd_tall", "svd_square", "svd_wide", "svd_batched"})
    all.push_back({name, [](In x) { return all_of(svd(x[0])); }});
  return all;
}

constexpr double precision = sizeof(real) == 8 ? 1e-13 : 1e-5;

double distance(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  return a.size() == 0 ? 0 : max(abs(a - b)).item();
}

// The greatest distance of a matrix of a batch from the identity.
double distance_from_identity(const Tensor& x) {
  return distance(x, broadcast_to(eye(x.shape()[-1]), x.shape()));
}

Tensor random_definite(const Shape& shape, Random& random) {
  const Tensor x = random.normal(shape);
  return matmul(x, x, {.b = true}) / static_cast<double>(shape[-1]) + eye(shape[-1]);
}

}  // namespace

TEST_CASE("decompositions agree with PyTorch", "[linalg]") {
  for (const LinalgRow& row : rows()) DYNAMIC_SECTION(row.name) {
      check_golden(row);
    }
}

TEST_CASE("first and second derivatives of decompositions agree with differences", "[linalg]") {
  for (const LinalgRow& row : rows()) DYNAMIC_SECTION(row.name) {
      check_derivatives(row);
    }
}

TEST_CASE("the factors of a decomposition multiply to the matrix", "[linalg]") {
  Random random(1);
  const Index n = GENERATE(1, 2, 7, 40, 130);
  INFO("size " << n);
  const Tensor a = random_definite({2, n, n}, random);
  const Tensor l = cholesky(a);
  CHECK(distance(matmul(l, l, {.b = true}), a) < precision * 10);
  CHECK(distance(l, tril(l)) == 0);

  const Eigh e = eigh(a);
  CHECK(distance(matmul(e.vectors * reshape(e.values, {2, 1, n}), e.vectors, {.b = true}), a) <
        precision * 100);
  CHECK(distance_from_identity(matmul(e.vectors, e.vectors, {.a = true})) < precision * 10);
  CHECK(distance(sort(e.values).values, e.values) == 0);
}

TEST_CASE("reduced decompositions of any shape multiply to the matrix", "[linalg]") {
  Random random(2);
  const Index m = GENERATE(1, 3, 33), n = GENERATE(1, 4, 50);
  INFO(m << " x " << n);
  const Index k = std::min(m, n);
  const Tensor a = random.normal({3, m, n});
  const auto [q, r] = qr(a);
  CHECK(distance(matmul(q, r), a) < precision * 10);
  CHECK(distance_from_identity(matmul(q, q, {.a = true})) < precision * 10);
  CHECK(distance(r, triu(r)) == 0);
  CHECK(min(diagonal(r)).item() >= 0);

  const auto [u, s, vt] = svd(a);
  CHECK(distance(matmul(u * reshape(s, {3, 1, k}), vt), a) < precision * 100);
  CHECK(distance_from_identity(matmul(u, u, {.a = true})) < precision * 10);
  CHECK(distance_from_identity(matmul(vt, vt, {.b = true})) < precision * 10);
}

TEST_CASE("the greatest element of an eigenvector or left singular vector is positive",
          "[linalg]") {
  Random random(3);
  const Tensor a = random.normal({20, 5, 5});
  for (const Tensor& vectors : {eigh(a).vectors, svd(a).u})
    CHECK(min(max(vectors, -2) + min(vectors, -2)).item() > 0);
  CHECK(distance(eigh(Tensor({2, 2}, {0, 1, 1, 0})).vectors,
                 std::sqrt(0.5) * Tensor({2, 2}, {1, 1, -1, 1})) < precision);
}

TEST_CASE("a matrix that is not symmetric counts as its symmetric part", "[linalg]") {
  const Tensor a({2, 2}, {5, 2, 0, 5}), symmetric({2, 2}, {5, 1, 1, 5});
  CHECK(distance(cholesky(a), cholesky(symmetric)) == 0);
  CHECK(distance(eigh(a).vectors, eigh(symmetric).vectors) == 0);
}

TEST_CASE("equal eigenvalues have gradients, their eigenvectors have none", "[linalg]") {
  const Tape tape;
  const Tensor a = watch(eye(3));
  const Eigh e = eigh(a);
  CHECK(distance(grad(sum(e.values), a, {.keep = true}), eye(3)) == 0);
  CHECK(range(grad(sum(e.vectors), a)).non_finite > 0);

  const Tensor b = watch(eye(3));
  const Svd d = svd(b);
  CHECK(distance(grad(sum(d.s), b, {.keep = true}), eye(3)) == 0);
  CHECK(range(grad(sum(d.u), b)).non_finite > 0);
}

TEST_CASE("decompositions of nothing are nothing", "[linalg]") {
  for (const Shape& shape : {Shape{0, 0}, Shape{0, 3, 3}, Shape{2, 0, 0}}) {
    CHECK(cholesky(zeros(shape)).shape() == shape);
    CHECK(eigh(zeros(shape)).values.shape() == shape.without(-1));
  }
  CHECK(qr(zeros({2, 3, 0})).q.shape() == Shape{2, 3, 0});
  CHECK(qr(zeros({0, 3})).r.shape() == Shape{0, 3});
  CHECK(svd(zeros({3, 0})).s.shape() == Shape{0});
  CHECK(svd(zeros({0, 4, 3})).vt.shape() == Shape{0, 3, 3});
}

TEST_CASE("decompositions refuse what they cannot decompose, and name it", "[linalg]") {
  Tensor indefinite = Tensor::uninitialized({2, 2, 2});
  const real values[] = {2, 1, 1, 2, 1, 2, 2, 1};
  std::copy(std::begin(values), std::end(values), indefinite.mutable_data());
  CHECK_THROWS_WITH(cholesky(indefinite),
                    Contains("cholesky: not positive definite: matrix (1) of (2, 2, 2) ["));
  CHECK_THROWS_WITH(cholesky(zeros({2, 2})), Contains("cholesky: not positive definite: (2, 2) ["));
  const Tensor nan({1, 2, 1, 1}, {1, static_cast<real>(std::nan(""))});
  const std::string found = ": a NaN or an infinity in the matrix: matrix (0, 1) of (1, 2, 1, 1)";
  CHECK_THROWS_WITH(cholesky(nan), Contains("cholesky" + found));
  CHECK_THROWS_WITH(qr(nan), Contains("qr" + found));
  CHECK_THROWS_WITH(eigh(nan), Contains("eigh" + found));
  CHECK_THROWS_WITH(svd(nan), Contains("svd" + found));
  CHECK_THROWS_WITH(cholesky(zeros({2, 3})),
                    Contains("cholesky: needs square matrices (..., n, n): (2, 3)"));
  CHECK_THROWS_WITH(eigh(zeros({2, 3})), Contains("eigh: needs square matrices"));
  CHECK_THROWS_WITH(qr(zeros({3})), Contains("qr: needs matrices (..., m, n): (3)"));
  CHECK_THROWS_WITH(svd(1.0), Contains("svd: needs matrices (..., m, n): ()"));
  for (const auto& call :
       std::vector<std::function<void()>>{[] { cholesky(Tensor()); }, [] { qr(Tensor()); },
                                          [] { eigh(Tensor()); }, [] { svd(Tensor()); }})
    CHECK_THROWS_AS(call(), ShapeError);
}

TEST_CASE("dependent columns have no gradients of their QR decomposition", "[linalg]") {
  // Twice the first column; rounding leaves an r that is not exactly 0 at the end of the diagonal.
  for (const Tensor& x : {Tensor({3, 2}, {1, 2, 2, 4, 3, 6}), Tensor({2, 3}, {1, 2, 0, 3, 6, 1})}) {
    const Tape tape;
    const Tensor a = watch(x);
    CHECK_THROWS_WITH(grad(sum(qr(a).q), a), Contains("qr: the matrix lacks full rank"));
    CHECK_THROWS_AS(grad(sum(qr(a).r), a), ArgumentError);
  }
}
