#include "tapegrad/core/precision.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "support/restore_threads.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/random.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/kernels/product/bfloat16.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/recompute.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;

namespace {

Tensor in_bfloat16(const Tensor& a, const Tensor& b, Transposed t = {}) {
  const PrecisionScope scope(Precision::bfloat16);
  return matmul(a, b, t);
}

bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::ranges::equal(a.values(), b.values());
}

}  // namespace

TEST_CASE("a scope of bfloat16 rounds the operands of products, and nothing after it", "[ops]") {
  Random random(1);
  const Tensor x = random.normal({5, 7}), w = random.normal({7, 4}), bias = random.normal({4});
  const Tensor full = matmul(x, w);
  const Tensor rounded = in_bfloat16(x, w);
  CHECK_FALSE(same(full, rounded));
  CHECK(max(abs(full - rounded)).item() < 0.1);
  CHECK(same(matmul(x, w), full));
  CHECK(same(in_bfloat16(x, w), rounded));

  // Operands that have no more than 8 significant bits are as they were.
  const Tensor digits = random.bernoulli({5, 7}, 0.5) * 3 - 1,
               others = random.bernoulli({7, 4}, 0.5);
  CHECK(same(in_bfloat16(digits, others), matmul(digits, others)));

  const PrecisionScope scope(Precision::bfloat16);
  const Tensor affine = linear(x, w, bias);
  CHECK(max(abs(affine - (rounded + bias))).item() < 1e-5);
  const PrecisionScope inner(Precision::full);
  CHECK(same(matmul(x, w), full));
}

TEST_CASE("derivatives of a bfloat16 product are products in bfloat16, of any order", "[ops]") {
  Random random(2);
  const Tensor w = random.normal({7, 4}), g = random.normal({5, 4}), v = random.normal({5, 7});
  const bool recomputed = GENERATE(false, true);
  Tape tape;
  const Tensor x = watch(random.normal({5, 7})), weight = watch(w);
  Tensor y;
  {
    const PrecisionScope scope(Precision::bfloat16);
    const auto net = [](const std::vector<Tensor>& in) { return matmul(in[0], in[1]); };
    y = recomputed ? recompute(net, {x, weight}) : net({x, weight});
  }
  const Tensor upstream = watch(g);
  const auto first = grad(sum(y * upstream), {x, weight}, {.record = true});
  CHECK(same(first[0], in_bfloat16(g, w, {.b = true})));
  CHECK(same(first[1], in_bfloat16(x, g, {.a = true})));
  // (g w^T) . v has the derivative v w towards g.
  const Tensor second = grad(sum(first[0] * v), upstream);
  CHECK(same(second, in_bfloat16(v, w)));
}

TEST_CASE("bfloat16 products have the same bits for any number of threads", "[ops]") {
  const testing::RestoreThreads restore;
  Random random(3);
  const Tensor a = random.normal({300, 200}), b = random.normal({200, 500});
  const Tensor stack = random.normal({9, 40, 30}), others = random.normal({9, 30, 50});
  set_threads(1);
  const Tensor one = in_bfloat16(a, b), batch = in_bfloat16(stack, others);
  for (const int threads : {2, 3, 7}) {
    set_threads(threads);
    CHECK(same(in_bfloat16(a, b), one));
    CHECK(same(in_bfloat16(stack, others), batch));
  }
}
