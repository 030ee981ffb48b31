#include "tapegrad/ops/affine.h"

#include <catch2/catch.hpp>

#include "tapegrad/core/error.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;

TEST_CASE("affine takes no rows, one channel and many rows, and refuses other shapes", "[norm]") {
  const Tape tape;
  const auto gradients = [](const Shape& shape) {
    const Tensor y = watch(ones(shape)), gain = watch(full({shape[-1]}, 3));
    const Tensor bias = watch(ones({shape[-1]}));
    return grad(sum(affine(y, gain, bias)), {y, gain, bias});
  };
  CHECK(gradients({0, 5})[1].values()[4] == 0);
  CHECK(gradients({1})[0].item() == 3);
  // More rows than one block takes; sums of ones are exact.
  const auto many = gradients({70000, 3});
  CHECK(many[1].values()[2] == 70000);
  CHECK(many[2].values()[0] == 70000);
  CHECK_THROWS_WITH(affine(ones({2, 3}), ones({2}), {}), Catch::Contains("affine: gain and bias"));
  CHECK_THROWS_AS(affine(ones({2, 3}), ones({3}), ones({1})), ShapeError);
  CHECK_THROWS_AS(affine(Tensor(1.0), ones({1}), {}), ShapeError);
}
