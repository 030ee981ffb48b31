#include "tapegrad/core/precision.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>

#include "support/restore_threads.h"
#include "tapegrad/core/machine/parallel.h"
#include "tapegrad/core/random.h"
#include "tapegrad/nn/functions/attention.h"
#include "tapegrad/ops/compare.h"
#include "tapegrad/ops/composite.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/kernels/product/bfloat16.h"
#include "tapegrad/ops/layout.h"
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
  CHECK(in_bfloat16(1e-40 * ones({1, 1}), 2.0 * ones({1, 1})).item() == 0);  // as in the header

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

TEST_CASE("attention in bfloat16 rounds what its products read, in every derivative", "[ops]") {
  Random random(4);
  const Tensor g = random.normal({2, 150, 16}), w = random.normal({2, 150, 16});
  // Queries and keys that rounding leaves as they are, so that only weights and values change.
  const Tensor q = random.bernoulli({2, 150, 16}, 0.5) * 2 - 1,
               k = random.bernoulli({2, 150, 16}, 0.5) * 2 - 1, v = random.normal({2, 150, 16});
  const AttentionOptions options{.heads = 2, .causal = GENERATE(false, true)};
  const auto f = [&](const std::vector<Tensor>& in) {
    return attention(in[0], in[1], in[2], options);
  };
  struct Derivatives {
    Tensor value;
    std::vector<Tensor> first, second;
  };
  // Only the forward pass is in the scope.
  const auto derivatives = [&](Precision precision, bool composite) {
    std::optional<Composite> readable;
    if (composite) readable.emplace();
    Tape tape;
    const std::vector<Tensor> in{watch(q), watch(k), watch(v)};
    Tensor y;
    {
      const PrecisionScope scope(precision);
      y = f(in);
    }
    const Tensor along = sum(y * g);
    const std::vector<Tensor> first = grad(along, in, {.keep = true});  // by kernels
    const std::vector<Tensor> recorded = grad(along, in, {.record = true});
    return Derivatives{detach(y), first, grad(sum(recorded[0] * w) + sum(recorded[2] * w), in)};
  };
  const Derivatives full = derivatives(Precision::full, false);
  const Derivatives fused = derivatives(Precision::bfloat16, false);
  const Derivatives defined = derivatives(Precision::bfloat16, true);
  // A weight and a value change by at most 2^-9 of themselves each.
  const double most = max(abs(v)).item() * 1.01 / 256;
  const auto close = [](const Tensor& a, const Tensor& b) {
    return max(abs(a - b)).item() <= max(abs(b)).item() / 64;
  };
  CHECK(max(abs(fused.value - full.value)).item() <= most);
  CHECK_FALSE(same(fused.value, full.value));
  CHECK(max(abs(fused.value - defined.value)).item() <= most);
  const auto expect_rounded = [&](const Tensor& found, const Tensor& right, const Tensor& exact) {
    CHECK(close(found, right));
    CHECK_FALSE(close(found * 1.05, right));
    CHECK_FALSE(same(found, exact));
  };
  for (std::size_t i = 0; i < 3; ++i) {
    expect_rounded(fused.first[i], defined.first[i], full.first[i]);
    expect_rounded(fused.second[i], defined.second[i], full.second[i]);
  }
}

TEST_CASE("bfloat16 products have the same bits for any number of threads", "[ops]") {
  const testing::RestoreThreads restore;
  Random random(3);
  const Tensor a = random.normal({300, 200}), b = random.normal({200, 500});
  const Tensor stack = random.normal({9, 40, 30}), others = random.normal({9, 30, 50});
  set_threads(1);
  const auto attend = [&] {
    const PrecisionScope scope(Precision::bfloat16);
    const Tensor x = reshape(b, {2, 100, 500});
    return attention(x, x, x, {.heads = 10, .causal = true});
  };
  const Tensor one = in_bfloat16(a, b), batch = in_bfloat16(stack, others), attended = attend();
  for (const int threads : {2, 3, 7}) {
    set_threads(threads);
    CHECK(same(in_bfloat16(a, b), one));
    CHECK(same(in_bfloat16(stack, others), batch));
    CHECK(same(attend(), attended));
  }
}
