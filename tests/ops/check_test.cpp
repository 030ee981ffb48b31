#include "tapegrad/ops/check.h"

#include <catch2/catch.hpp>
#include <vector>

#include "tapegrad/core/random.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/softmax.h"

using namespace tapegrad;
using Catch::Contains;

TEST_CASE("the Jacobian check sees a single wrong entry", "[ops]") {
  const std::vector<Tensor> x{Random(1).normal({4})};
  const auto f = [](const std::vector<Tensor>& in) { return softmax(in[0]); };
  CHECK(check_jacobian(f, x));
  const auto wrong = [](const std::vector<Tensor>& in) {
    const Tensor y = softmax(in[0]);
    return record("wrong", detach(y), {}, edge(y, [](const Tensor& g) {
                    return g * Tensor({4}, {1, 1, 2, 1});
                  }));
  };
  CHECK_FALSE(check_jacobian(wrong, x));
  CHECK_THAT(check_jacobian(wrong, x).message, Contains("output 2"));
  for (const CheckOptions& options : {CheckOptions{.step = 0}, CheckOptions{.tolerance = -1}})
    CHECK_THROWS_WITH(check_gradient(f, x, options),
                      Contains("check: step and tolerance must be positive"));
}
