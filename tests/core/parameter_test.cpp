#include "tapegrad/core/parameter.h"

#include <array>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "tapegrad/core/error.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;

TEST_CASE("a parameter is copied when a rule still holds its value", "[tape]") {
  Parameter weight(ones({2}));
  const Tape tape;
  const Tensor y = square(weight);
  const real* before = weight.value().data();
  weight.mutable_data()[0] = 5;
  CHECK(weight.value().data() != before);
  CHECK(grad(sum(y), std::vector{weight})[0].values()[0] == 2);  // at the value of the forward pass
  CHECK_THROWS_AS(weight.set(ones({3})), ShapeError);
}

TEST_CASE("threads may read one parameter, each on its own tape", "[tape][threads]") {
  const Parameter weight(ones({100}));
  std::vector<std::thread> threads;
  std::array<real, 4> found{};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const Tape tape;
        found[t] = grad(sum(square(weight)), std::vector{weight})[0].values()[0];
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const real gradient : found) CHECK(gradient == 2);
}

TEST_CASE("a parameter is named when its shape does not fit", "[ops]") {
  const Parameter weight(zeros({784, 10}), "hidden.weight");
  const Tape tape;
  CHECK_THROWS_WITH(
      matmul(zeros({64, 100}), weight),
      Catch::StartsWith("matmul: inner sizes differ: (64, 100) x (784, 10) of hidden.weight ["));
}
