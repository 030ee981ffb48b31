#include "tapegrad/ops/matmul.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "support/values.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/random.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/derivatives.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

// The largest difference to sums in double precision, in units of the largest possible sum.
double error_of_product(const Tensor& a, const Tensor& b, Transposed t, const Tensor& c) {
  const Index m = c.shape()[0], n = c.shape()[1], k = a.shape()[t.a ? 0 : 1];
  double error = 0;
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < n; ++j) {
      double sum = 0;
      for (Index p = 0; p < k; ++p)
        sum += static_cast<double>(a.data()[t.a ? p * m + i : i * k + p]) *
               b.data()[t.b ? j * k + p : p * n + j];
      error = std::max(error, std::abs(sum - c.data()[i * n + j]) / static_cast<double>(k));
    }
  return error;
}

// a b for all four ways to give a and b.
void check_products(Index m, Index n, Index k, Random& random) {
  constexpr double precision = sizeof(real) == 8 ? 1e-15 : 1e-6;
  for (const bool of_a : {false, true})
    for (const bool of_b : {false, true}) {
      const Tensor a = random.uniform(of_a ? Shape{k, m} : Shape{m, k}, -1, 1);
      const Tensor b = random.uniform(of_b ? Shape{n, k} : Shape{k, n}, -1, 1);
      INFO(m << " x " << n << " x " << k << ", transposed " << of_a << of_b);
      CHECK(error_of_product(a, b, {of_a, of_b}, matmul(a, b, {of_a, of_b})) < precision);
    }
}

}  // namespace

TEST_CASE("products of all thin shapes", "[ops]") {
  Random random(1);
  for (const Index m : {1, 2, 3, 5, 8, 9, 33})
    for (const Index n : {1, 7, 16, 33, 70})
      for (const Index k : {1, 3, 8, 9, 40}) check_products(m, n, k, random);
}

// Around the sizes at which the kernels change: blocks of rows, vectors of columns, pieces of a
// long sum, and rows so far apart that an operand is rearranged first.
TEST_CASE("products of shapes between thin and large", "[ops]") {
  Random random(3);
  for (const Index m : {9, 12, 23, 24, 25})
    for (const Index n : {1, 15, 16, 17, 31, 33, 63, 64, 65, 130})
      for (const Index k : {9, 70}) check_products(m, n, k, random);
  check_products(20, 600, 390, random);
  check_products(30, 600, 20, random);
  check_products(130, 40, 800, random);
  check_products(600, 150, 30, random);
  check_products(800, 520, 10, random);
}

TEST_CASE("a linear layer begins from its bias in every kernel", "[ops]") {
  constexpr double precision = sizeof(real) == 8 ? 1e-14 : 1e-5;
  Random random(4);
  for (const auto& [m, n, k] : std::vector<std::array<Index, 3>>{
           {0, 3, 2}, {3, 2, 0}, {4, 33, 20}, {50, 70, 900}, {400, 530, 9}, {600, 600, 520}}) {
    INFO(m << " x " << n << " x " << k);
    const Tensor x = random.uniform({m, k}, -1, 1), weight = random.uniform({k, n}, -1, 1);
    const Tensor bias = random.uniform({n}, -1, 1);
    const Tensor fused = linear(x, weight, bias), expected = composite::linear(x, weight, bias);
    double difference = 0;
    for (Index i = 0; i < fused.size(); ++i)
      difference =
          std::max(difference, std::abs(static_cast<double>(fused.data()[i] - expected.data()[i])));
    CHECK(difference / static_cast<double>(k + 1) < precision);
  }
}

TEST_CASE("products are the same for any number of threads", "[ops][threads]") {
  Random random(2);
  const Index rows = GENERATE(4, 100, 1030);
  const Tensor x = random.normal({rows, 512}), w = random.normal({512, 1030});
  const Tensor g = random.normal({rows, 1030});
  // Tiles of this one are thin: the whole is not.
  const Tensor few = random.normal({18, 4096}), fewer = random.normal({16, 4096});
  const Tensor wide = random.normal({70, 9001}), tall = random.normal({9001, 50});
  const auto products = [&] {
    return std::vector{matmul(x, w), matmul(g, w, {.b = true}), matmul(x, g, {.a = true}),
                       matmul(few, fewer, {.b = true}), matmul(wide, tall)};
  };
  const int before = threads();
  set_threads(1);
  const std::vector<Tensor> alone = products();
  for (const int count : {2, 3, 8}) {
    set_threads(count);
    const std::vector<Tensor> together = products();
    for (std::size_t i = 0; i < alone.size(); ++i)
      CHECK(std::equal(alone[i].values().begin(), alone[i].values().end(),
                       together[i].values().begin()));
  }
  set_threads(before);
}

TEST_CASE("a vector is a row on the left and a column on the right", "[ops]") {
  Random random(2);
  const Tensor v = random.normal({3}), m = random.normal({3, 4}), batch = random.normal({2, 5, 3});
  CHECK(distance(matmul(v, m), reshape(matmul(reshape(v, {1, 3}), m), {4})) == 0);
  CHECK(distance(matmul(batch, v), reshape(matmul(batch, reshape(v, {3, 1})), {2, 5})) == 0);
  CHECK(distance(matmul(v, random.normal({2, 3, 4})), zeros({2, 4})) > 0);
  CHECK(matmul(v, v).shape() == Shape{});
  CHECK(matmul(v, v).item() == Approx(sum(square(v)).item()));
  for (const auto& [a, b] : {std::pair(v, m), {batch, v}, {v, v}}) {
    const Function product = [](const auto& in) { return matmul(in[0], in[1]); };
    CHECK(check_gradient(product, {a, b}));
    CHECK(check_second_gradient(product, {a, b}));
  }
}

// Sums of equal terms: each rounding has the same sign, so errors add up.
TEST_CASE("the error of a product does not grow with its length", "[ops]") {
  constexpr double bound = 4e-6 * std::numeric_limits<real>::epsilon() / 1.2e-7;
  const real x = real{0.1};
  for (const Index k : {1000, 10'000, 100'000, 1'000'000})
    for (const Index m : k < 1'000'000 ? std::vector<Index>{3, 12, 24}  // thin, one panel, turned
                                       : std::vector<Index>{3, 12})     // around
      for (const bool of_a : {false, true})
        for (const bool of_b : {false, true}) {
          INFO(m << " rows, " << k << " terms, transposed " << of_a << of_b);
          const Tensor a = full(of_a ? Shape{k, m} : Shape{m, k}, x);
          const Tensor b = full(of_b ? Shape{9, k} : Shape{k, 9}, x);
          const double sum = static_cast<double>(k) * static_cast<double>(x) * x;
          const Tensor one = matmul(a, b, {of_a, of_b});
          const Tensor many = matmul(stack({a, a}, 0), stack({b, b}, 0), {of_a, of_b});
          for (const Tensor& c : {one, many})
            for (const real each : c.values()) CHECK(std::abs(each - sum) < bound * sum);
        }
}
