// Whitening, which is made of products alone, beside the eigenvalues of the covariance.

#include "tapegrad/nn/layers/norms/whiten.h"
#include "linalg/row.h"
#include "tapegrad/core/random.h"
#include "tapegrad/linalg/decompose.h"
#include "tapegrad/nn/layers/norm.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;

namespace {

Tensor root_by_eigh(const Tensor& a) {
  const Eigh e = eigh(a);
  return matmul(e.vectors * rsqrt(e.values), e.vectors, {.b = true});
}

}  // namespace

TEST_CASE("the iterated inverse root converges to the one by eigenvalues", "[linalg][norm]") {
  Random random(1);
  const Tensor x = random.normal({40, 6}), a = matmul(x, x, {.a = true}) / 40.0;
  const Tensor exact = root_by_eigh(a);
  double last = 1;
  for (const Index iterations : {1, 3, 5, 7}) {
    const double error = relative_error(inverse_root(a, iterations), exact);
    CHECK(error < last);
    last = error;
  }
  CHECK(relative_error(inverse_root(a, 12), exact) < (sizeof(real) == 8 ? 1e-9 : 1e-4));
}

// The gradient of the iteration, too, converges to the exact one.
TEST_CASE("the norm whiten is ZCA whitening after enough iterations", "[linalg][norm]") {
  Random random(2);
  const Tensor x = random.normal({30, 4}), g = random.normal({30, 4});
  const Norm norm("whiten:iterations=12,eps=0.001,affine=0", 4);
  const Function iterated = [&](const auto& in) { return norm(in[0], training(random)); };
  const Function exact = [](const auto& in) {
    const Tensor centered = in[0] - mean(in[0], 0);
    const Tensor covariance = matmul(centered, centered, {.a = true}) / 30.0;
    return matmul(centered, root_by_eigh(covariance + 0.001 * eye(4)));
  };
  const double precision = sizeof(real) == 8 ? 1e-9 : 1e-3;
  CHECK(relative_error(iterated({x}), exact({x})) < precision);
  CHECK(relative_error(vjp(iterated, {x}, g)[0], vjp(exact, {x}, g)[0]) < precision);
}
