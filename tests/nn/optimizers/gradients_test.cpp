#include "tapegrad/nn/optimizers/gradients.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>

#include "tapegrad/core/error.h"
#include "tapegrad/core/tape.h"
#include "tapegrad/nn/functions/similarity.h"
#include "tapegrad/ops/elementwise.h"
#include "tapegrad/ops/grad.h"
#include "tapegrad/ops/norm.h"
#include "tapegrad/ops/reduce.h"

using namespace tapegrad;

TEST_CASE("gradients that are undefined count as none and stay undefined", "[nn]") {
  const std::vector<Tensor> gradients{Tensor({2}, {3, 4}), Tensor()};
  CHECK(global_norm(gradients) == Approx(5));
  for (const auto& [clip, limit, clipped] :
       {std::tuple<std::function<void(std::vector<Tensor>&, double)>, double, double>{
            clip_by_global_norm, 2.5, 1.5},
        {clip_by_norm, 2.5, 1.5},
        {clip_by_value, 1, 1}}) {
    std::vector<Tensor> each = gradients;
    clip(each, limit);
    CHECK(each[0].data()[0] == Approx(clipped));
    CHECK_FALSE(each[1].defined());
  }
  std::vector<Tensor> total;
  accumulate(total, gradients);
  accumulate(total, {Tensor(), Tensor()});
  CHECK(total[0].data()[1] == 4);
  CHECK_FALSE(total[1].defined());
  accumulate(total, {Tensor({2}, {1, 1}), Tensor({1}, {7})});
  CHECK(total[0].data()[1] == 5);
  CHECK(total[1].data()[0] == 7);
}

TEST_CASE("clipping by common norm, by own norm and by value", "[nn]") {
  const std::vector<Tensor> gradients{Tensor({2}, {3, 0}), Tensor({1}, {4})};
  std::vector<Tensor> common = gradients, own = gradients, value = gradients;
  CHECK(global_norm(gradients) == Approx(5));
  CHECK(clip_by_global_norm(common, 2.5) == Approx(5));
  CHECK(common[0].data()[0] == Approx(1.5));
  CHECK(common[1].data()[0] == Approx(2));
  CHECK(clip_by_global_norm(common, 10) == Approx(2.5));
  CHECK(common[1].data()[0] == Approx(2));
  clip_by_norm(own, 3.5);
  CHECK(own[0].data()[0] == 3);
  CHECK(own[1].data()[0] == Approx(3.5));
  clip_by_value(value, 2);
  CHECK(value[0].data()[0] == 2);
  CHECK(value[0].data()[1] == 0);
  CHECK_THROWS_AS(clip_by_value(value, 0), ArgumentError);
  std::vector<Tensor> total;
  accumulate(total, gradients);
  accumulate(total, gradients);
  CHECK(total[1].data()[0] == 8);
}

TEST_CASE("squares overflow where their root is beyond the greatest number's", "[nn]") {
  const double root = std::sqrt(static_cast<double>(std::numeric_limits<real>::max()));
  for (const double sign : {-1.0, 1.0}) {
    std::vector<Tensor> below{full({1}, 0.99 * sign * root)}, above{full({1}, 1.01 * sign * root)};
    CHECK(norm(below[0]).item() == Approx(0.99 * root));
    CHECK(norm(above[0]).item() == std::numeric_limits<double>::infinity());
    CHECK(l2_normalize(below[0]).item() == Approx(sign));
    CHECK(l2_normalize(above[0]).item() == 0);
    CHECK(global_norm(above) == std::numeric_limits<double>::infinity());
    CHECK(clip_by_global_norm(below, 2) == Approx(0.99 * root));
    CHECK(below[0].item() == Approx(2 * sign));
    std::vector<Tensor> alone = above;
    clip_by_norm(alone, 2);
    CHECK(alone[0].item() == 0);
    clip_by_global_norm(above, 2);
    CHECK(above[0].item() == 0);
  }
}

TEST_CASE("means over batches of different sizes are weighted to be that of all", "[nn]") {
  const Tensor few({2}, {1, 2}), more({3}, {3, 4, 8});
  const Parameter w(ones({}));
  std::vector<Tensor> total;
  for (const Tensor& batch : {few, more}) {
    const Tape tape;
    const double share = static_cast<double>(batch.size()) / 5;
    accumulate(total, {grad(mean(batch * w) * share, w)});
  }
  CHECK(total[0].item() == Approx(3.6));  // 18 / 5
}

TEST_CASE("clipping passes on what is not a number, as PyTorch does", "[ops]") {
  constexpr real infinity = std::numeric_limits<real>::infinity();
  const real nan = std::numeric_limits<real>::quiet_NaN();
  for (const real bad : {nan, infinity}) {
    std::vector<Tensor> gradients{Tensor({2}, {bad, 1}), full({3}, 1000)};
    clip_by_global_norm(gradients, 1);
    CHECK(std::isnan(gradients[0].values()[0]));
    // nan makes all of them nan; beside inf, the others become 0
    if (std::isnan(bad)) CHECK(std::isnan(gradients[1].values()[0]));
    if (!std::isnan(bad)) CHECK(gradients[1].values()[0] == 0);
    std::vector<Tensor> alone{Tensor({2}, {bad, 1})};
    clip_by_norm(alone, 1);
    CHECK(std::isnan(alone[0].values()[0]));
  }
}
