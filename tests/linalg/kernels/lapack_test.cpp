#include "tapegrad/linalg/kernels/lapack.h"

#include <cblas.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <vector>

#include "support/restore_threads.h"
#include "tapegrad/core/random.h"
#include "tapegrad/linalg/decompose.h"
#include "tapegrad/linalg/solve.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/matmul.h"

using namespace tapegrad;

namespace {

// Large enough for OpenBLAS to use threads of its own.
std::vector<Tensor> everything() {
  Random random(1);
  const Tensor x = random.normal({3, 200, 200});
  const Tensor a = matmul(x, x, {.b = true}) + eye(200), b = random.normal({200, 100});
  const Svd d = svd(x);
  return {cholesky(a), qr(x).q,    qr(x).r,   eigh(a).vectors,       d.u, d.s, d.vt,
          solve(a, b), inverse(a), logdet(a), triangular_solve(a, b)};
}

}  // namespace

TEST_CASE("linear algebra is the same for any number of threads", "[linalg][threads]") {
  const testing::RestoreThreads restore;
  const int openblas = openblas_get_num_threads();
  set_threads(1);
  const std::vector<Tensor> alone = everything();
  for (const int count : {2, 3}) {
    set_threads(count);
    openblas_set_num_threads(count);
    const std::vector<Tensor> together = everything();
    for (std::size_t i = 0; i < alone.size(); ++i)
      CHECK(std::equal(alone[i].values().begin(), alone[i].values().end(),
                       together[i].values().begin()));
    CHECK(openblas_get_num_threads() == count);  // as before the calls
  }
  openblas_set_num_threads(openblas);
}
