#include "tapegrad/nn/layers/norms/whiten.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "support/golden.h"
#include "tapegrad/core/error.h"
#include "tapegrad/core/random.h"
#include "tapegrad/nn/layers/norm.h"
#include "tapegrad/ops/check.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/index.h"
#include "tapegrad/ops/layout.h"
#include "tapegrad/ops/matmul.h"
#include "tapegrad/ops/recompute.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;
using namespace tapegrad::testing;
using Catch::Contains;

namespace {

constexpr double whiten_precision = sizeof(real) == 8 ? 1e-12 : 1e-4;

// Correlated features, with a mean.
Tensor features(Index samples, Index channels) {
  Random random(1);
  const Tensor mixing = eye(channels) + random.normal({channels, channels}) * 0.3;
  return matmul(random.normal({samples, channels}), mixing) + random.normal({channels});
}

Tensor covariance(const Tensor& x) {
  const Tensor centered = x - mean(x, 0);
  return matmul(centered, centered, {.a = true}) / static_cast<double>(x.shape()[0]);
}

}  // namespace

TEST_CASE("the inverse root by the printed iteration", "[nn][norm]") {
  const Tensor sigma = covariance(features(30, 4));
  const double trace = sum(diagonal(sigma)).item();
  Tensor p = eye(4);
  for (int k = 0; k < 5; ++k) p = 0.5 * (3.0 * p - matmul(matmul(p, matmul(p, p)), sigma / trace));
  CHECK(relative_error(inverse_root(sigma, 5), p / std::sqrt(trace)) < whiten_precision);
  const Tensor many = stack({sigma, 2.0 * sigma});
  CHECK(relative_error(select(inverse_root(many, 5), 1), inverse_root(2.0 * sigma, 5)) <
        whiten_precision);
}

TEST_CASE("enough iterations whiten: the covariance is the identity", "[nn][norm]") {
  Random random(2);
  const Tensor x = features(50, 6);
  const Norm norm("whiten:iterations=12,eps=0,affine=0", 6);
  CHECK(relative_error(covariance(norm(x, training(random))), eye(6)) < 1e-3);
  const Norm groups("whiten:groups=2,iterations=12,eps=0,affine=0", 6);
  const Tensor found = covariance(groups(x, training(random)));
  CHECK(relative_error(slice(slice(found, 0, 0, 3), 1, 0, 3), eye(3)) < 1e-3);
  CHECK(relative_error(slice(slice(found, 0, 3, 6), 1, 3, 6), eye(3)) < 1e-3);
  CHECK(max(abs(slice(slice(found, 0, 0, 3), 1, 3, 6))).item() > 0.05);  // between the groups
}

TEST_CASE("images are whitened like their positions as features", "[nn][norm]") {
  Random random(3);
  const Tensor image = random.normal({2, 4, 3, 5});
  const Norm of_images("whiten:groups=2", 4, Channels::second), of_features("whiten:groups=2", 4);
  const Tensor rows = permute(image, {0, 2, 3, 1});
  for (const Mode mode : {training(random), Mode()}) {
    const Tensor expected =
        permute(reshape(of_features(reshape(rows, {30, 4}), mode), rows.shape()), {0, 3, 1, 2});
    CHECK(relative_error(of_images(image, mode), expected) == 0);
  }
}

TEST_CASE("whitening uses its running averages in evaluation", "[nn][norm]") {
  Random random(4);
  const Tensor x = features(20, 4);
  const Norm norm("whiten:groups=2,momentum=0.25,eps=0.01", 4);
  CHECK(relative_error(norm(x), x) == 0);  // before any run, the identity
  norm(x, training(random));
  const Tensor mu = mean(x, 0);
  CHECK(relative_error(norm.buffers[0].buffer, 0.25 * mu) < whiten_precision);
  const auto matrix = [&](Index begin) {
    const Tensor sigma = covariance(slice(x, 1, begin, begin + 2)) + 0.01 * eye(2);
    return 0.75 * eye(2) + 0.25 * inverse_root(sigma, 5);
  };
  CHECK(relative_error(norm.buffers[1].buffer, stack({matrix(0), matrix(2)})) < whiten_precision);
  const Tensor second = matmul(slice(x - 0.25 * mu, 1, 2, 4), matrix(2));
  CHECK(relative_error(slice(norm(x), 1, 2, 4), second) < whiten_precision);
}

TEST_CASE("a recomputed whitening updates its averages once", "[nn][norm]") {
  Random random(5);
  const Norm norm("whiten", 4);
  const Tape tape;
  const Tensor x = watch(features(20, 4));
  const Tensor y =
      recompute(Function([&](const auto& in) { return norm(in[0], training(random)); }), {x});
  const Tensor before = norm.buffers[1].buffer;
  grad(sum(square(y)), x);
  CHECK(relative_error(norm.buffers[1].buffer, before) == 0);
}

TEST_CASE("first and second derivatives of whitening", "[nn][norm]") {
  Random random(6);
  const Norm norm("whiten:groups=2,iterations=3", 4);
  const Function whitened = [&](const auto& in) { return norm(in[0], training(random)); };
  const Tensor x = features(7, 4);
  const CheckResult first = check_gradient(whitened, {x});
  INFO(first.message);
  CHECK(first);
  const CheckResult second = check_second_gradient(whitened, {x});
  INFO(second.message);
  CHECK(second);
  CHECK(check_gradient([&](const auto& in) { return norm(in[0]); }, {x}));
  const Tensor sigma = covariance(x);
  const Function root = [](const auto& in) { return inverse_root(in[0], 3); };
  CHECK(check_gradient(root, {sigma}));
  CHECK(check_second_gradient(root, {sigma}));
}

TEST_CASE("whitening refuses what it cannot do", "[nn][norm]") {
  CHECK_THROWS_WITH(Norm("whiten:groups=3", 4), Contains("3 groups do not divide 4 channels"));
  CHECK_THROWS_WITH(NormSpec("whiten:place=out"), Contains("norm: ") && Contains("place is out"));
  CHECK_THROWS_WITH(NormSpec("whiten:iterations=101"), Contains("iterations must lie in [1, 100]"));
  CHECK_THROWS_WITH(NormSpec("batch:iterations=3"), Contains("batch has no option iterations"));
  CHECK_THROWS_WITH(inverse_root(ones({2, 3}), 5), Contains("inverse_root: needs square matrices"));
  CHECK_THROWS_AS(inverse_root(eye(2), 0), ArgumentError);
  CHECK_THROWS_AS(inverse_root(Tensor(), 5), ShapeError);
}
