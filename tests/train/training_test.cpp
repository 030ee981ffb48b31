#include "tapegrad/train/training.h"

#include <catch2/catch.hpp>

#include "tapegrad/nn/layers/linear.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using Catch::Contains;

TEST_CASE("a dry run changes nothing and finds what the net does not list") {
  Random random(1);
  const Linear net(3, 4, random);
  const Parameter forgotten(ones({4, 2}));
  const Tensor x = random.normal({5, 3});
  RunFlags flags;
  flags.dry_run = true;
  Training training({}, flags, fields(net), 10);
  const real before = net.weight.value().data()[0];
  CHECK(training.step([&] { return sum(net(x)); }) == Approx(sum(net(x)).item()));
  CHECK(training.optimizer().steps() == 0);
  CHECK(net.weight.value().data()[0] == before);
  CHECK_THROWS_WITH(training.step([&] { return sum(matmul(net(x), forgotten)); }),
                    Contains("parameter of shape (4, 2) that matmul at training_test.cpp"));
}
