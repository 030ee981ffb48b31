#include "tapegrad/nn/layers/init.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "support/restore_threads.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;

TEST_CASE("initial values have the spread of their formulas", "[nn]") {
  Random random(7);
  const Shape shape{300, 500};
  CHECK(max(abs(xavier_uniform(shape, random))).item() ==
        Approx(std::sqrt(6.0 / 800)).epsilon(1e-3));
  CHECK(stddev(xavier_normal(shape, random)).item() == Approx(std::sqrt(2.0 / 800)).epsilon(0.02));
  CHECK(max(abs(kaiming_uniform(shape, random))).item() ==
        Approx(std::sqrt(6.0 / 300)).epsilon(1e-3));
  CHECK(stddev(kaiming_normal(shape, random)).item() == Approx(std::sqrt(2.0 / 300)).epsilon(0.02));
  CHECK(max(abs(fan_in_uniform(shape, 25, random))).item() == Approx(0.2).epsilon(1e-3));
  CHECK(fans({20, 3, 5, 5}).in == 75);
  CHECK(fans({20, 3, 5, 5}).out == 500);
  CHECK(fans({20, 3, 5}).in == 15);
  CHECK(fans({20, 3, 5}).out == 100);
  CHECK(stddev(xavier_normal({300, 100, 5}, random)).item() ==
        Approx(std::sqrt(2.0 / 2000)).epsilon(0.02));
  CHECK_THROWS_AS(fans({3}), ShapeError);
  CHECK_THROWS_AS(fans({3, 3, 3, 3, 3}), ShapeError);
}

TEST_CASE("each orthogonal block is orthogonal", "[nn]") {
  Random random(7);
  const double margin = sizeof(real) == 8 ? 1e-12 : 1e-5;
  const Tensor w = orthogonal({8, 16}, random, 2);
  for (int block = 0; block < 2; ++block) {
    Tensor u = Tensor::uninitialized({8, 8});
    for (Index i = 0; i < 64; ++i) u.mutable_data()[i] = w.data()[i / 8 * 16 + block * 8 + i % 8];
    CHECK(max(abs(matmul(u, u, {.a = true}) - eye(8))).item() < margin);
  }
  const Tensor wide = orthogonal({3, 7}, random), tall = orthogonal({7, 3}, random);
  CHECK(max(abs(matmul(wide, wide, {.b = true}) - eye(3))).item() < margin);
  CHECK(max(abs(matmul(tall, tall, {.a = true}) - eye(3))).item() < margin);
  CHECK_THROWS_AS(orthogonal({4, 7}, random, 2), ArgumentError);
}

TEST_CASE("orthogonal matrices are what Gram-Schmidt makes of the draws, on any number of threads",
          "[nn][threads]") {
  const Index size =
      300;  // several blocks and a part of one; the last rows have little of their own
  Random random(7), same(7);
  const Tensor found = orthogonal({size, size}, random);
  std::vector<std::vector<double>> basis;
  double greatest = 0;
  for (Index i = 0; i < size; ++i) {
    const Tensor drawn = same.normal({size});
    std::vector<double> row(drawn.values().begin(), drawn.values().end());
    for (int pass = 0; pass < 2; ++pass)
      for (const auto& other : basis) {
        const double along = std::inner_product(row.begin(), row.end(), other.begin(), 0.0);
        for (Index j = 0; j < size; ++j) row[j] -= along * other[j];
      }
    const double norm = std::sqrt(std::inner_product(row.begin(), row.end(), row.begin(), 0.0));
    for (double& value : row) value /= norm;
    for (Index j = 0; j < size; ++j)
      greatest = std::max(greatest, std::abs(row[j] - found.data()[j * size + i]));
    basis.push_back(std::move(row));
  }
  CHECK(greatest < (sizeof(real) == 8 ? 1e-12 : 1e-5));
  CHECK(max(abs(matmul(found, found, {.b = true}) - eye(size))).item() <
        (sizeof(real) == 8 ? 1e-14 : 3e-6));

  const RestoreThreads restore;
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    Random again(7);
    CHECK(max(abs(orthogonal({size, size}, again) - found)).item() == 0);
  }
}
